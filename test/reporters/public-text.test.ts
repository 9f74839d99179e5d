import { expect, it } from "vitest";
import { publicText } from "../../src/reporters/public-text.ts";
import { registerSecret } from "../../src/secrets/live-secrets.ts";

it("leaves a text as it was written", () => {
  expect(publicText("**Fixed** in `a.ts`:\n\n- yes")).toBe("**Fixed** in `a.ts`:\n\n- yes");
});

it("holds neither a secret of ours nor what has the form of one", () => {
  registerSecret("hunter2-of-the-database");
  const form = `ghp_${"Ab3".repeat(12)}`;
  const text = publicText(`It is hunter2-of-the-database, or ${form}`);
  expect(text).not.toContain("hunter2");
  expect(text).not.toContain(form);
  expect(text).toMatch(/^It is .+, or .+$/);
});
