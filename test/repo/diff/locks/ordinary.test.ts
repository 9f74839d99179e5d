import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareLocks } from "../../../../src/repo/diff/locks/compare.ts";
import { written } from "./states.ts";

const clean = { kind: "read", faults: [], neutral: null };
const changes = written.flatMap(({ tool, path, states }) =>
  states.map((state) => [`${tool}: ${state.name}`, path, state] as const),
);

describe("a lock file that a tool wrote", () => {
  it.each(changes)(
    "A lock file that a tool wrote is read without a fault after %s",
    (_, path, { text, before }) => {
      const manifest = '{ "dependencies": { "pad": "npm:left-pad@1.3.0" } }';
      expect(compareLocks(`web/${path}`, before, text, [manifest, manifest])).toEqual(clean);
    },
  );

  it("The samples have at least 60 changes, and all tools", () => {
    expect(changes.filter(([, , { before }]) => before !== null).length).toBeGreaterThan(60);
    expect(new Set(written.map(({ path }) => path)).size).toBe(11);
  });

  it.each(changes)("A lock file reads the same with the line ends of Windows: %s", (_, path, { text }) => {
    expect(compareLocks(path, text, text.replaceAll("\n", "\r\n"))).toEqual(clean);
  });

  const reversed = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    const entries = Object.entries(value).map(([key, inner]) => [key, reversed(inner)]);
    return Object.fromEntries(entries.toReversed());
  };

  it.each(changes.filter(([, path]) => /(?:json|Pipfile\.lock|composer\.lock)$/.test(path)))(
    "A lock file that a tool wrote means the same in another order and without line breaks: %s",
    (_, path, { text }) => {
      expect(compareLocks(path, text, JSON.stringify(reversed(JSON.parse(text))))).toEqual(clean);
    },
  );

  it.each(changes.filter(([, path]) => /^(?:uv|Cargo|yarn)\.lock$|^go\.sum$/.test(path)))(
    "A lock file that a tool wrote means the same with its entries in another order: %s",
    (_, path, { text }) => {
      const between = path === "go.sum" ? "\n" : /\n\n(?=\[\[package|"?@?[a-z])/;
      const [head = "", ...entries] = text.trimEnd().split(between);
      const other = [head, ...entries.toReversed()].join(path === "go.sum" ? "\n" : "\n\n");
      expect(compareLocks(path, text, `${other}\n`)).toEqual(clean);
    },
  );
});

/** What decides what is installed, by tool: each match is one such value, and its first group is the part that is changed. */
const decisive: Record<string, RegExp[]> = {
  npm: [/"resolved": "https:\/\/([^"]*)"/g, /"integrity": "sha512-([^"]*)"/g],
  pnpm: [/integrity: sha512-([^}]*)\}/g],
  bun: [/\["(@?[\w./-]+)@\d/g, /"sha512-([^"]*)"\]/g],
  yarn1: [/resolved "https:\/\/([^#]*)#/g, /integrity sha512-(\S*)/g, /#([\da-f]{40})"/g],
  yarn4: [/resolution: "(@?[\w./-]+)@npm:/g, /checksum: 10\/(\w*)/g],
  uv: [
    /url = "https:\/\/([^"/]*)/g,
    /\/([a-z]{3})[\w.-]+", hash/g,
    /hash = "sha256:(\w*)"/g,
    /registry = "https:\/\/([^"]*)"/g,
  ],
  poetry: [/hash = "sha256:(\w*)"/g, /\nurl = "https:\/\/([^"]*)"/g],
  pipenv: [/"url": "https:\/\/([^"]*)"/g],
  cargo: [/source = "registry\+https:\/\/([^"]*)"/g, /checksum = "(\w*)"/g],
  go: [/h1:(\S*)=/g],
  gem: [/remote: https:\/\/(\S*)\//g],
  composer: [/"url": "https:\/\/([^"]*)"/g, /"reference": "(\w{40})",/g],
};

describe("a lock file in which a value that decides what is installed", () => {
  it.each(written)(
    "A random change of what is installed is never read without a fault: $tool",
    ({ tool, path, states }) => {
      const pick = fc.record({ state: fc.nat(), form: fc.nat(), match: fc.nat(), at: fc.nat() });
      fc.assert(
        fc.property(pick, ({ state, form, match, at }) => {
          const { text = "" } = states[state % states.length] ?? {};
          const forms = decisive[tool] ?? [];
          const found = [...text.matchAll(forms[form % forms.length] ?? /$/g)];
          const one = found[match % Math.max(1, found.length)];
          const [whole = "", part = ""] = one ?? [];
          fc.pre(one !== undefined && part !== "");
          const place = at % part.length;
          const other = part[place] === "x" ? "y" : "x";
          const changed = part.slice(0, place) + other + part.slice(place + 1);
          const start = one.index + whole.indexOf(part);
          const after = text.slice(0, start) + changed + text.slice(start + part.length);
          expect({ after: compareLocks(path, text, after), changed }).not.toEqual({ after: clean, changed });
        }),
        { numRuns: 150 },
      );
    },
  );
});
