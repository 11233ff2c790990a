// What `lab run` and `lab up` share: read the file, open the lab, play the scenario, close the lab.

import { interruptOn } from '../lab/scenario/interrupt.ts';
import { parseScenario, showMistakes } from '../lab/scenario/parse-scenario.ts';
import { colours, plain, renderEvent, type RunEvent } from '../lab/scenario/report.ts';
import { runTimeline } from '../lab/scenario/run-timeline.ts';
import type { OpenLab } from '../lab/scenario/open-lab.ts';
import { type CliContext, type Ec2Place, EXIT, type LabHandBook, type NetworkWish } from './context.ts';

export interface PlayOptions {
  readonly network: NetworkWish;
  readonly ec2: Ec2Place;
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
    ec2: options.ec2,
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
      const interrupt = interruptOn(context.whenInterrupted);
      try {
        const { counts, ...result } = await open.drive(runTimeline(open.lab, tell, interrupt));
        if (interrupt.requested()) return EXIT.interrupted;
        tell({ kind: 'Finished', counts, ...result, virtualTime: open.virtualTime });
        await options.afterwards?.(open, handBook);
        return counts.Broken > 0 ? EXIT.broken : EXIT.ok;
      } finally {
        await open.drive(open.lab.close());
      }
    }
  }
}
