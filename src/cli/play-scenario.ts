// What `lab run` and `lab up` share: read the file, open the lab, play the scenario, close the lab.

import { parseScenario, showMistakes } from '../lab/scenario/parse-scenario.ts';
import { colours, plain, renderEvent, type RunEvent } from '../lab/scenario/report.ts';
import { runTimeline } from '../lab/scenario/run-timeline.ts';
import type { OpenLab } from '../lab/scenario/open-lab.ts';
import { type CliContext, EXIT, type LabHandBook, type NetworkWish } from './context.ts';

export interface PlayOptions {
  readonly network: NetworkWish;
  readonly verbose: boolean;
  /** Runs after the last step, before the lab is closed. */
  readonly afterwards?: (open: OpenLab, handBook: LabHandBook | undefined) => Promise<void>;
}

/** Answers the exit code. */
export async function playScenario(context: CliContext, file: string, options: PlayOptions): Promise<number> {
  const text = await context.readFile(file);
  if (!text.ok) {
    context.complain(`eniwhere: ${text.error}\n`);
    return EXIT.usage;
  }
  const scenario = parseScenario(text.value);
  if (!scenario.ok) {
    context.complain(`${showMistakes(file, scenario.error)}\n`);
    return EXIT.usage;
  }
  const tell = (event: RunEvent): void => context.write(renderEvent(event, context.colour ? colours : plain));
  const { name, about } = scenario.value;
  const opened = await context.openLab({
    scenario: scenario.value,
    network: options.network,
    verbose: options.verbose,
  });
  switch (opened.kind) {
    case 'RanInChild':
      return opened.exitCode;
    case 'Impossible':
      context.complain(`eniwhere: ${opened.message}\n`);
      return EXIT.usage;
    case 'Open': {
      const { open, handBook } = opened;
      tell({ kind: 'Started', name, network: open.network, ...(about === undefined ? {} : { about }) });
      try {
        const exitCode = await Promise.race([
          play(open, tell),
          context.whenInterrupted.then(() => EXIT.interrupted),
        ]);
        if (exitCode !== EXIT.interrupted) await options.afterwards?.(open, handBook);
        return exitCode;
      } finally {
        await open.drive(open.lab.close());
      }
    }
  }
}

async function play(open: OpenLab, tell: (event: RunEvent) => void): Promise<number> {
  const result = await open.drive(runTimeline(open.lab, tell));
  tell({ kind: 'Finished', ...result, virtualTime: open.virtualTime });
  return result.counts.Broken > 0 ? EXIT.broken : EXIT.ok;
}
