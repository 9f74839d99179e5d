import { expect, it } from "vitest";
import { derivedStateKey } from "../../../src/cli/action/state-key.ts";

const key = "sk-proj-9fQ2xZ7LmV4tR8wKc1Bn6YhJ3sD5gP0a";

it("A state key is derived from a provider's key that lasts, one for each repository", () => {
  const derived = derivedStateKey(key, 7);
  expect(derived).toMatch(/^[0-9a-f]{64}$/);
  expect(derivedStateKey(key, 7)).toBe(derived);
  expect(derivedStateKey(key, 8)).not.toBe(derived);
  expect(derivedStateKey(`${key}b`, 7)).not.toBe(derived);
});

it.each([
  ["none", null],
  ["a short one", "sk-9fQ2xZ7LmV4tR8"],
  ["words", "local-server-needs-no-key-at-all-here"],
  ["one character", "x".repeat(40)],
  ["a token of the job", "ghs_9fQ2xZ7LmV4tR8wKc1Bn6YhJ3sD5gP0aXyZw"],
  ["a token of a log-in", "eyJhbGciOiJSUzI1NiJ9.9fQ2xZ7LmV4tR8wKc1Bn6YhJ3sD5gP0a"],
])("No state key is derived from %s", (_, given) => {
  expect(derivedStateKey(given, 7)).toBeNull();
});
