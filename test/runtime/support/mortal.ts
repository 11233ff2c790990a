// An agent's ports that kill its process at a chosen step of a request, as a power button would.

import type { Journal } from '../../../src/ports/journal.ts';
import type { NetworkStack } from '../../../src/ports/network-stack.ts';
import type { CniReply, CniRequest } from '../../../src/protocol/agent-socket/cni-message.ts';

/** Steps of ADD and DEL, at whose beginning or end the process may die. */
export type Step = 'journal' | 'wire' | 'unwire' | 'reply';

export interface Death {
  readonly command: 'ADD' | 'DEL';
  readonly moment: 'before' | 'after';
  readonly step: Step;
}

type Handle = (request: CniRequest) => Promise<CniReply>;

export interface MortalPorts {
  journal(journal: Journal): Journal;
  stack(stack: NetworkStack): NetworkStack;
  handle(handle: Handle): Handle;
}

/** The ports as they are, but for the one death, from the first such request on. */
export function mortalPorts(death: Death | undefined): MortalPorts {
  let isArmed = false;
  const die = (moment: Death['moment'], step: Step): void => {
    if (isArmed && death?.moment === moment && death.step === step) process.kill(process.pid, 'SIGKILL');
  };
  const around =
    <Input, Output>(step: Step, call: (input: Input) => Promise<Output>) =>
    async (input: Input): Promise<Output> => {
      die('before', step);
      const output = await call(input);
      die('after', step);
      return output;
    };
  return {
    journal: (journal) => ({ ...journal, append: around('journal', journal.append) }),
    stack: (stack) => ({
      ...stack,
      wirePod: around('wire', stack.wirePod),
      unwirePod: around('unwire', stack.unwirePod),
    }),
    handle: (handle) => async (request) => {
      isArmed ||= request.command === death?.command;
      const reply = await handle(request);
      if (request.command === death?.command) die('before', 'reply');
      return reply;
    },
  };
}
