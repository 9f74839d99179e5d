import { type Files, type Oracle, siteKey } from "./truth.ts";

/**
 * Where an oracle differs from what comments say: `= def NAME` on the line of a definition, `= calls NAME, NAME` on one that
 * calls them for certain. Names are those of the marks; no other line may call them for certain.
 */
export function misjudged(
  create: (files: Files) => Oracle,
  texts: Readonly<Record<string, string>>,
): string[] {
  const oracle = create(new Map(Object.entries(texts)));
  const wanted = new Map<string, Set<string>>();
  const places = new Map<string, string>();
  for (const [path, text] of Object.entries(texts)) {
    for (const [at, line] of text.split("\n").entries()) {
      const [, does, names = ""] = /= (def|calls) (.*)$/.exec(line) ?? [];
      const site = siteKey({ path, line: at + 1 });
      if (does === "def") places.set(names, site);
      for (const name of does === "calls" ? names.split(", ") : [])
        wanted.set(name, (wanted.get(name) ?? new Set()).add(site));
    }
  }
  const unmarked = [...wanted.keys()].filter((name) => !places.has(name)).map((name) => `${name} is no mark`);
  return [...unmarked, ...[...places].flatMap(([name, place]) => judge(name, place))];

  function judge(name: string, place: string): string[] {
    const callable = oracle.callables.find((one) => siteKey(one) === place);
    if (!callable) return [`${name} is not known`];
    const { certain } = oracle.truthOf(callable);
    const sites = wanted.get(name) ?? new Set();
    return [
      ...[...sites].filter((site) => !certain.has(site)).map((site) => `${name} missed at ${site}`),
      ...[...certain].filter((site) => !sites.has(site)).map((site) => `${name} wrong at ${site}`),
    ];
  }
}
