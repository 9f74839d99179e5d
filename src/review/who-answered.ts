import type { Totals } from "../agent/totals.ts";

type Answers = Pick<Totals, "requests" | "standIns">;

/** The models that answered, as reports name them: `asked` itself, unless another one stood in every time. */
export function whoAnswered(asked: string, { requests, standIns = {} }: Answers): string {
  const others = Object.keys(standIns).filter((name) => name !== asked);
  return [...(countOf(standIns) < requests || others.length === 0 ? [asked] : []), ...others].join(" and ");
}

/** What readers of a review should know of whose it is; nothing where the models that are configured answered. */
export function standInWarning({ requests, standIns = {} }: Answers): string[] {
  const count = countOf(standIns);
  if (count === 0) return [];
  const names = Object.keys(standIns).join(" and ");
  return [
    `${names} answered ${count} of ${requests} requests, because the model that is configured for them was overloaded or could not be reached`,
  ];
}

const countOf = (standIns: Readonly<Record<string, number>>) =>
  Object.values(standIns).reduce((sum, count) => sum + count, 0);
