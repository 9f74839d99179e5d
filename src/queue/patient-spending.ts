import { errorLine } from "../errors.ts";
import { type Insistence, insist } from "./insist.ts";
import { sleepUnlessAborted } from "./sleep.ts";
import type { Spending } from "./spending.ts";
import type { WorkerLog } from "./worker-log.ts";

export interface PatientOptions extends Pick<Insistence, "queue"> {
  /** The process stops: nobody waits any longer. */
  signal: AbortSignal;
  log: Pick<WorkerLog, "warn">;
  sleep?: Insistence["sleep"];
}

/**
 * Spending that waits for a database that is away: a turn that was paid for and could not be charged would be lost, and paid
 * for again. Where only the answer was lost, a turn is charged twice: budgets end early, not late.
 */
export function patientSpending(spending: Spending, options: PatientOptions): Spending {
  const { queue, signal, log, sleep = sleepUnlessAborted } = options;
  const warn = (message: string, err: unknown) => log.warn({ err }, `${message}: ${errorLine(err)}`);
  const ask = <T>(one: () => Promise<T>) => insist(one, { queue, signal, sleep, warn });
  return {
    charge: (by, usage, at) => ask(() => spending.charge(by, usage, at)),
    spentOn: (day, scope) => ask(() => spending.spentOn(day, scope)),
  };
}
