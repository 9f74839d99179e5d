import { describe, expect, it } from "vitest";
import type { EditPort } from "../../../src/agent/tools/tool.ts";
import { scopedEdits } from "../../../src/tasks/fix/run-fix.ts";

const entry = (path: string) => ({ path, mode: "100644", oid: "a".repeat(40) });

/** Files of which one test is new, behind the scope of a fix; `done` is what came through. */
function scoped() {
  const done: string[] = [];
  const files: EditPort = {
    read: async (path) => Buffer.from(path),
    write: async (path) => void done.push(`write ${path}`),
    remove: async (path) => void done.push(`remove ${path}`),
    edits: async () => [
      { path: "tests/test_new.py", before: null, after: { mode: "100644", bytes: Buffer.from("x") } },
      { path: "tests/test_old.py", before: entry("tests/test_old.py"), after: null },
    ],
  };
  const scope = {
    files: new Set(["src/cart.py", ".npmrc"]),
    isPrivate: (path: string) => path === "tests/key.py",
  };
  return { done, edits: scopedEdits(files, scope) };
}

describe("scopedEdits", () => {
  it("An edit out of scope is refused at once, with the reason for the model", async () => {
    const { done, edits } = scoped();
    await edits.write("src/cart.py", Buffer.from("a"));
    await expect(edits.write(".npmrc", Buffer.from("a"))).rejects.toThrow("decides where packages come from");
    await expect(edits.remove("src/other.py")).rejects.toMatchObject({ code: "not_allowed" });
    expect(done).toEqual(["write src/cart.py"]);
  });

  it("A fix may delete a test that it has made, but no existing one", async () => {
    const { done, edits } = scoped();
    await expect(edits.remove("tests/test_cart.py")).rejects.toThrow("may not be deleted");
    await expect(edits.remove("tests/test_old.py")).rejects.toThrow("may not be deleted");
    await edits.remove("tests/test_new.py");
    expect(done).toEqual(["remove tests/test_new.py"]);
  });
});
