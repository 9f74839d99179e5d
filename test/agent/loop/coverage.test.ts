import fc from "fast-check";
import { expect, it } from "vitest";
import { createCoverage } from "../../../src/agent/loop/coverage.ts";

it("Coverage counts each hunk once and names what was never served", () => {
  const coverage = createCoverage([
    { path: "a", hunks: 3 },
    { path: "b", hunks: 1 },
    { path: "c", hunks: 0 },
  ]);

  for (const hunk of [1, 1, 3]) coverage.serve("a", hunk);
  coverage.delivered();

  expect(coverage.counts()).toEqual({
    total: 4,
    served: 2,
    unserved: [
      { path: "a", hunks: 1 },
      { path: "b", hunks: 1 },
    ],
  });
});

it("Coverage ignores paths and hunks that do not take part", () => {
  const coverage = createCoverage([{ path: "a", hunks: 1 }]);

  coverage.serve("generated.lock", 1);
  for (const hunk of [0, 2, -1, Number.NaN]) coverage.serve("a", hunk);
  expect(coverage.counts()).toEqual({ total: 1, served: 0, unserved: [{ path: "a", hunks: 1 }] });

  coverage.serve("a", 1);
  coverage.delivered();
  expect(coverage.counts()).toEqual({ total: 1, served: 1, unserved: [] });
});

it("Coverage counts what was shown once the model has answered to it", () => {
  const coverage = createCoverage([{ path: "a", hunks: 2 }]);

  coverage.serve("a", 2);
  expect(coverage.unshown("a")).toEqual([1]);
  expect(coverage.counts()).toMatchObject({ served: 0 });

  coverage.delivered();
  coverage.serve("a", 1);
  expect(coverage.counts()).toEqual({ total: 2, served: 1, unserved: [{ path: "a", hunks: 1 }] });
});

it("Coverage of nothing is complete", () => {
  expect(createCoverage([]).counts()).toEqual({ total: 0, served: 0, unserved: [] });
});

it("Coverage always adds up", () => {
  const files = fc.uniqueArray(fc.record({ path: fc.constantFrom("a", "b", "c", "d"), hunks: fc.nat(5) }), {
    selector: ({ path }) => path,
  });
  const served = fc.array(
    fc.tuple(fc.constantFrom("a", "b", "c", "d", "e"), fc.integer({ min: -1, max: 7 })),
  );
  fc.assert(
    fc.property(files, served, (given, list) => {
      const coverage = createCoverage(given);
      for (const [path, hunk] of list) coverage.serve(path, hunk);
      coverage.delivered();
      const { total, served: count, unserved } = coverage.counts();

      const hunksOf = new Map<string, number>(given.map(({ path, hunks }) => [path, hunks]));
      const distinct = new Set(
        list
          .filter(([path, hunk]) => hunk >= 1 && hunk <= (hunksOf.get(path) ?? 0))
          .map(([path, hunk]) => `${path} ${hunk}`),
      );
      expect(count).toBe(distinct.size);
      expect(count + unserved.reduce((sum, { hunks }) => sum + hunks, 0)).toBe(total);
    }),
  );
});

it("Coverage of a part is counted in the whole once it was delivered", () => {
  const whole = createCoverage([
    { path: "a", hunks: 2 },
    { path: "b", hunks: 1 },
  ]);
  const first = createCoverage([{ path: "a", hunks: 2 }], whole);
  const second = createCoverage([{ path: "b", hunks: 1 }], whole);

  first.serve("a", 1);
  second.serve("b", 1);
  second.delivered();

  expect(whole.counts()).toMatchObject({ served: 1, unserved: [{ path: "a", hunks: 2 }] });
  first.delivered();
  expect(whole.counts()).toMatchObject({ served: 2, unserved: [{ path: "a", hunks: 1 }] });
  expect(second.counts()).toEqual({ total: 1, served: 1, unserved: [] });
});
