// How the API server is reached, and as whom.

export interface Credentials {
  /** Value of the Authorization header. */
  readonly authorization?: string;
  /** PEM, of the client. */
  readonly cert?: string;
  readonly key?: string;
  /** PEM, of the authorities that may vouch for the server; Node's own when absent. */
  readonly ca?: string;
}

export interface KubernetesConnection {
  /** `https://HOST:PORT`, perhaps with a path, as in kubeconfig; no slash at the end. */
  readonly server: string;
  /** Name to expect in the server's certificate; the host when absent. */
  readonly serverName?: string;
  /** For kubeconfigs that say so; off otherwise. */
  readonly insecureSkipTlsVerify: boolean;
  /** Asked before every request: tokens rotate. Rejects with a sentence that says what cannot be read. */
  credentials(): Promise<Credentials>;
  /** The server answered 401: what `credentials` remembers is worth nothing any more. */
  refused(): void;
}
