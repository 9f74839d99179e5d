import { seeded } from "../../../support/seeded.ts";
import { type Callable, type CallSite, type Oracle, siteKey } from "./truth.ts";

/** Finds callers in a set of files that it was made for: what is put to the test. */
export interface CallerFinder {
  callersOf(callable: Callable): Promise<readonly CallSite[]> | readonly CallSite[];
}

/** One callable for which finder and oracle differ. */
export interface Disagreement {
  callable: Callable;
  missed: readonly string[];
  wrong: readonly string[];
}

export interface Agreement {
  sampled: number;
  /** Those for which every certain caller was found and nothing that is neither certain nor possible. */
  agreeing: number;
  /** Call sites of all sampled callables together. */
  found: { right: number; wrong: number };
  missed: number;
  disagreements: readonly Disagreement[];
}

/** Callables that are called somewhere for certain, drawn by a seed: the same ones at each run over the same files. */
export function sampleCalled(oracle: Oracle, size: number, seed: number): Callable[] {
  return draw(
    oracle.callables.filter((one) => oracle.truthOf(one).certain.size > 0),
    size,
    seed,
  );
}

/** Callables that nothing calls for certain: what is found for them must at least be possible. */
export function sampleUncalled(oracle: Oracle, size: number, seed: number): Callable[] {
  return draw(
    oracle.callables.filter((one) => oracle.truthOf(one).certain.size === 0),
    size,
    seed,
  );
}

/** So many of them, the same ones for each seed. */
export function draw<Value>(values: readonly Value[], size: number, seed: number): Value[] {
  const random = seeded(seed);
  const left = [...values];
  for (let at = left.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [left[at], left[other]] = [left[other]!, left[at]!];
  }
  return left.slice(0, size);
}

/** Asks the finder for the callers of each callable and compares them with what the oracle knows. */
export async function compare(
  oracle: Oracle,
  finder: CallerFinder,
  callables: readonly Callable[],
): Promise<Agreement> {
  const disagreements: Disagreement[] = [];
  const found = { right: 0, wrong: 0 };
  let missed = 0;
  for (const callable of callables) {
    const { certain, possible } = oracle.truthOf(callable);
    const sites = new Set((await finder.callersOf(callable)).map(siteKey));
    const wrong = [...sites].filter((site) => !certain.has(site) && !possible.has(site));
    const absent = [...certain].filter((site) => !sites.has(site));
    found.right += certain.size - absent.length;
    found.wrong += wrong.length;
    missed += absent.length;
    if (wrong.length + absent.length > 0) disagreements.push({ callable, missed: absent, wrong });
  }
  return {
    sampled: callables.length,
    agreeing: callables.length - disagreements.length,
    found,
    missed,
    disagreements,
  };
}

/** Share of what was found that is right; 1 where nothing was found. */
export const precisionOf = ({ found: { right, wrong } }: Agreement): number => share(right, right + wrong);
/** Share of the certain callers that were found. */
export const recallOf = ({ found: { right }, missed }: Agreement): number => share(right, right + missed);
export const agreementOf = ({ agreeing, sampled }: Agreement): number => share(agreeing, sampled);

const share = (part: number, whole: number) => (whole === 0 ? 1 : part / whole);

export function describeAgreement(name: string, agreement: Agreement): string {
  const percent = (value: number) => `${(value * 100).toFixed(1)} %`;
  const { sampled, agreeing } = agreement;
  const [precision, recall] = [precisionOf(agreement), recallOf(agreement)].map(percent);
  return `${name}: ${agreeing} of ${sampled} agree (${percent(agreementOf(agreement))}), precision ${precision}, recall ${recall}`;
}
