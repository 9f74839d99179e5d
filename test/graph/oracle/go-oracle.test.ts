import { expect, it } from "vitest";
import { createGoOracle } from "./go-oracle.ts";
import { misjudged } from "./marked-files.ts";
import { typesInGo } from "./marked-go.ts";

/** Comments name what their lines call for certain, see `marked-files.ts`. */
it("the oracle for Go follows types through fields, results, embedding and ranges, and knows what hides a name", () => {
  expect(misjudged(createGoOracle, typesInGo)).toEqual([]);
});
