// Mistakes planted into the product to see that the simulation finds them: as changes of its source while it is loaded.

export interface Edit {
  /** Below src/. */
  readonly file: string;
  /** Text that is there exactly once. */
  readonly find: string;
  readonly replace: string;
}

export interface Mutant {
  readonly name: string;
  readonly edits: readonly Edit[];
  /** As on the command line of `lab simulate`: what the mistake needs to show; drawn from the seed when absent. */
  readonly faults?: string;
  /** It is found within so many seeds from 1 on. */
  readonly seedCount: number;
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'the cooldown is dropped',
    edits: [
      {
        file: 'agent/cooldowns.ts',
        find: 'start(ip, releasedAt, Math.max(0, lengthMs - restedMs(ip)));',
        replace: 'start(ip, releasedAt, 0);',
      },
    ],
    seedCount: 10,
  },
  {
    name: 'addresses are unassigned before the agent has let go of them',
    edits: [
      {
        file: 'domain/ipam/pool.ts',
        find: 'const withdrawn = published.filter((ip) => marks.withdrawn.has(ip));',
        replace: 'const withdrawn = published.filter((ip) => marks.withdrawn.has(ip) || asked.has(ip));',
      },
      {
        file: 'controller/reconcile-node.ts',
        find: 'withdrawn.has(ip) && withdrawing.has(ip)',
        replace: 'withdrawing.has(ip)',
      },
    ],
    seedCount: 10,
  },
  {
    name: 'a prefix is given back once the agent has let go of one of its addresses',
    edits: [
      {
        file: 'domain/ipam/pool.ts',
        find: 'isWithdrawn: addresses.every((ip) =>',
        replace: 'isWithdrawn: addresses.some((ip) =>',
      },
      {
        file: 'controller/reconcile-node.ts',
        find: 'withdrawn.has(ip) && withdrawing.has(ip)',
        replace: 'withdrawing.has(ip)',
      },
    ],
    seedCount: 40,
  },
  {
    name: 'every describe is believed, however stale',
    edits: [
      {
        file: 'controller/eni-belief.ts',
        find: 'export const BELIEF_MS = 60_000;',
        replace: 'export const BELIEF_MS = 0;',
      },
    ],
    faults:
      'ec2.staleOdds=0.8,ec2.stalePerObject=true,workload.annotationOdds=0.2,workload.burstOdds=0.4,workload.massDeletionOdds=0.1',
    seedCount: 20,
  },
  {
    name: 'a create is repeated without its client token',
    edits: [
      {
        file: 'controller/execute.ts',
        find: 'clientToken: intent.id,',
        replace: 'clientToken: `${intent.id}-${deps.clock.now()}`,',
      },
    ],
    faults: 'ec2.lostAnswerOdds=0.3,workload.annotationOdds=0.2',
    seedCount: 20,
  },
  {
    name: 'addresses are handed out before their ENI is attached and its link is there',
    edits: [
      {
        file: 'agent/host-keeper.ts',
        find: 'shared.routed = routedAddresses(spec, new Set(pendingEnis));',
        replace: 'shared.routed = routedAddresses(spec, new Set());',
      },
    ],
    seedCount: 10,
  },
  {
    name: 'delete-on-termination is forgotten',
    edits: [
      {
        file: 'domain/ipam/plan.ts',
        find: 'eni.attachment === undefined || eni.attachment.deleteOnTermination',
        replace: 'true',
      },
    ],
    seedCount: 10,
  },
  {
    name: 'withdrawn addresses are handed out',
    edits: [
      {
        file: 'domain/ipam/allocate.ts',
        find: "if (ledger.withdrawn.has(ip) || eni.withdrawing.includes(ip)) return 'withdrawing';",
        replace: '',
      },
      {
        file: 'domain/ipam/apply-record.ts',
        find: 'assert(!draft.withdrawn.has(ip), `IP-6: ${ip} is given to ${id} after it was withdrawn`);',
        replace: '',
      },
    ],
    faults: 'workload.annotationOdds=0.2,workload.burstOdds=0.4,workload.massDeletionOdds=0.1',
    seedCount: 40,
  },
  {
    name: 'new pods are put on cordoned ENIs',
    edits: [
      {
        file: 'domain/ipam/allocate.ts',
        find: '.filter((eni) => !eni.cordoned && !eni.primary)',
        replace: '.filter((eni) => !eni.primary)',
      },
    ],
    seedCount: 20,
  },
  {
    name: 'the journal is not read after a restart',
    edits: [
      {
        file: 'agent/ledger-store.ts',
        find: 'state.ledger = ledgerFrom(records);',
        replace: 'state.ledger = ledgerFrom([]);',
      },
    ],
    seedCount: 40,
  },
  {
    name: 'a DEL is answered, and the release is lost',
    edits: [
      {
        file: 'agent/release-pod.ts',
        find: 'return context.store.record([released(allocation, context.clock.now())]);',
        replace: 'return { ok: true, value: undefined };',
      },
    ],
    seedCount: 10,
  },
  {
    name: 'the allocation is answered before it is durable',
    edits: [
      {
        file: 'agent/ledger-store.ts',
        find: '    reserve: (allocation) =>\n      commit({',
        replace: '    reserve: (allocation) =>\n      commitEarly({',
      },
      {
        file: 'agent/ledger-store.ts',
        find: '  return {\n    ledger: () => state.ledger,',
        replace:
          '  const commitEarly: typeof commit = async (request) => { void commit(request); return ok(undefined); };\n  return {\n    ledger: () => state.ledger,',
      },
    ],
    faults: 'node.diskMaxMs=1000',
    seedCount: 10,
  },
  {
    name: 'an older spec is followed after a newer one',
    edits: [
      {
        file: 'domain/ipam/withdrawal.ts',
        find: "return version.generation === ledger.spec.generation ? 'Current' : 'Stale';",
        replace: "return version.generation === ledger.spec.generation ? 'Current' : 'Newer';",
      },
    ],
    faults:
      'cluster.staleListOdds=1,cluster.gapOdds=0.1,workload.annotationOdds=0.2,workload.burstOdds=0.4,workload.massDeletionOdds=0.1',
    seedCount: 20,
  },
  {
    name: 'ENIs of others are taken for ours',
    edits: [
      {
        file: 'controller/snapshot.ts',
        find: 'owned: isOwned(eni.tags, settings.clusterName),',
        replace: 'owned: true,',
      },
    ],
    seedCount: 60,
  },
  {
    name: 'an ENI with resting addresses is taken for empty',
    edits: [
      {
        file: 'domain/ipam/withdrawal.ts',
        find: '(ip) => !ledger.holders.has(ip) && !ledger.cooling.has(ip) && !ledger.withdrawn.has(ip),',
        replace: '(ip) => !ledger.holders.has(ip) && !ledger.withdrawn.has(ip),',
      },
    ],
    faults:
      'ec2.randomAddresses=false,workload.annotationOdds=0.2,workload.burstOdds=0.4,workload.massDeletionOdds=0.1',
    seedCount: 20,
  },
  {
    name: "rests are measured by the machine's clock",
    edits: [
      {
        file: 'agent/cooldowns.ts',
        find: 'const since = ledger().coolingSinceBoot.get(ip);',
        replace: 'const since = ledger().cooling.get(ip);',
      },
      {
        file: 'agent/cooldowns.ts',
        find: 'Math.max(0, clock.bootNow() - since);',
        replace: 'Math.max(0, clock.now() - since);',
      },
    ],
    faults:
      'node.agentClockJumpsPerHour=60,node.agentCrashesPerHour=60,workload.burstOdds=0.4,workload.massDeletionOdds=0.1',
    seedCount: 20,
  },
  {
    name: "the controller's durations go by the machine's clock",
    edits: [
      {
        file: 'controller/start-controller.ts',
        find: 'const clock = steadyClock(deps.clock);',
        replace: 'const clock = deps.clock;',
      },
    ],
    faults: 'node.controllerClockJumpsPerHour=60,workload.burstOdds=0.4,workload.massDeletionOdds=0.1',
    seedCount: 40,
  },
  {
    name: 'a controller does not ask whether it still leads before it writes',
    edits: [
      {
        file: 'controller/fenced-ec2.ts',
        find: 'term.isHeld() ? call(request).then(heard) : Promise.resolve(notLeading(action));',
        replace: 'term === undefined ? Promise.resolve(notLeading(action)) : call(request).then(heard);',
      },
    ],
    faults:
      'node.twoControllers=true,node.controllerPausesPerHour=6,ec2.latencyMaxMs=2000,cluster.outageOdds=0.001,workload.annotationOdds=0.2,workload.burstOdds=0.4,workload.massDeletionOdds=0.1,workload.eniConfigToggleOdds=0.1,workload.classOdds=0.2',
    seedCount: 40,
  },
  {
    name: "a leader measures its lease by the machine's clock alone",
    edits: [
      {
        file: 'domain/leadership/lease.ts',
        find: 'Math.max(now.wallMs - since.wallMs, now.bootMs - since.bootMs);',
        replace: 'now.wallMs - since.wallMs;',
      },
    ],
    faults:
      'node.twoControllers=true,node.controllerPausesPerHour=3,node.controllerClockJumpsPerHour=60,cluster.outageOdds=0.005,workload.annotationOdds=0.2,workload.burstOdds=0.4,workload.massDeletionOdds=0.1',
    seedCount: 20,
  },
  {
    name: "a pod that chose is served from its node's pool",
    edits: [
      {
        file: 'domain/ipam/pod-allowance.ts',
        find: 'enis.filter((eni) => !eni.primary && eni.eniConfig === allowance.eniConfig);',
        replace: 'enis.filter((eni) => !eni.primary);',
      },
    ],
    faults: 'workload.choosingPodOdds=0.5',
    seedCount: 10,
  },
  {
    name: 'a pod is believed to choose nothing before anybody has told',
    edits: [
      {
        file: 'domain/ipam/pod-allowance.ts',
        find: 'if (wish === undefined)\n    return wait(',
        replace:
          "if (wish === undefined) return { kind: 'Everybody' };\n  if (wish === undefined)\n    return wait(",
      },
    ],
    faults: 'workload.choosingPodOdds=0.5,cluster.watchDelayMaxMs=5000',
    seedCount: 10,
  },
  {
    name: 'ENIs that pods chose become everybody’s when those are gone',
    edits: [
      {
        file: 'domain/ipam/eni-role.ts',
        find: 'return published !== undefined && published.chosenOnly !== true && !published.cordoned;',
        replace: 'return published !== undefined && !published.cordoned;',
      },
    ],
    faults: 'workload.choosingPodOdds=0.5,workload.classOdds=0.2',
    seedCount: 40,
  },
  {
    name: 'an address is given back by what was believed, not by what the object says now',
    edits: [
      {
        file: 'controller/reconcile-node.ts',
        find: "if (!GIVES_BACK.has(action.do) || !('eniId' in action)) return true;",
        replace: "if (GIVES_BACK.size > 0 || !('eniId' in action)) return true;",
      },
    ],
    faults:
      'cluster.staleListOdds=1,cluster.watchDelayMaxMs=5000,node.controllerCrashesPerHour=60,node.controllerCrashInCallOdds=0.05,workload.burstOdds=0.4,workload.massDeletionOdds=0.1',
    seedCount: 30,
  },
  {
    name: 'changes of a class are ignored',
    edits: [
      {
        file: 'controller/cluster-view.ts',
        find: "case 'Applied':\n      put(view, kind, event.object);",
        replace:
          "case 'Applied':\n      if (kind !== 'NodeNetworkClass' || !view.classes.has(event.object.name)) put(view, kind, event.object);",
      },
    ],
    faults: 'workload.classOdds=0.2',
    seedCount: 10,
  },
  {
    name: 'a class without a usable ENIConfig falls through to the next rule',
    edits: [
      {
        file: 'domain/eniconfig/select-by-class.ts',
        find: 'return { selection: nothingUsable(from, { names, views }, context) };',
        replace: 'return { notApplied: nothingUsable(from, { names, views }, context).reason };',
      },
    ],
    faults: 'workload.classOdds=0.2',
    seedCount: 10,
  },
  {
    name: 'a wrong name on a node falls through to the next rule',
    edits: [
      {
        file: 'domain/eniconfig/select-eni-config.ts',
        find: 'return { selection: view === undefined ? notFound(choice, context) : use(choice, view, context) };',
        replace:
          "return view === undefined ? { notApplied: 'no such ENIConfig' } : { selection: use(choice, view, context) };",
      },
    ],
    faults: 'workload.annotationOdds=0.2',
    seedCount: 10,
  },
  {
    name: 'a line of the budget is looked at each millisecond until a claim lapses',
    edits: [
      {
        file: 'controller/budget.ts',
        find: 'return waitMs > 0 ? Math.min(waitMs, CALL_LIFE_MS) : CALL_LIFE_MS + 1;',
        replace: 'return Math.max(1, Math.min(waitMs, CALL_LIFE_MS));',
      },
    ],
    faults:
      'ec2.throttleOdds=0.2,ec2.serverErrorOdds=0.1,ec2.staleOdds=0.8,ec2.staleMs=3000,ec2.stalePerObject=true,cluster.gapOdds=0.1,cluster.lostAnswerOdds=0.1,person.subnetFillingsPerHour=30,person.tokenSpreesPerHour=30,workload.annotationOdds=0.2,workload.eniConfigToggleOdds=0.1,workload.classOdds=0.05,workload.forcedDeletionOdds=0.5,workload.recreationOdds=0.5',
    seedCount: 40,
  },
  {
    name: 'an ENI that somebody pulled off is deleted under its pods',
    edits: [
      {
        file: 'domain/ipam/plan-growth.ts',
        find: 'livingCount(view, eni) > 0;',
        replace: 'livingCount(view, eni) > 99;',
      },
    ],
    faults: 'person.eniRemovalsPerHour=90,workload.burstOdds=0.4',
    seedCount: 10,
  },
];
