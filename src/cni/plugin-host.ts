// What src/cni/plugin-host.c offers to the plugin's code.

export interface PluginHost {
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string;
  /**
   * Connects to the unix socket, sends the text, and reads until the other end closes. `takeMs` for it to take the request
   * and send a first byte, `answerMs` for the rest. `errno` is the system's name of what went wrong, ETIMEDOUT when the time
   * was over; `answer` is what had come by then.
   */
  exchange(
    socketPath: string,
    text: string,
    takeMs: number,
    answerMs: number,
  ): {
    readonly step: 'connect' | 'take' | 'answer' | 'done';
    readonly errno: string;
    readonly answer: string;
  };
  /** Prints both and ends the process. */
  finish(stdout: string, stderr: string, exitCode: number): void;
}
