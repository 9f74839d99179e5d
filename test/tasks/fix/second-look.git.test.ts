import { afterAll, describe, expect, it } from "vitest";
import { answered, call, edit, FixedRepository, finish, look, nothing, target } from "./fix-fixture.ts";

const repo = new FixedRepository();
afterAll(() => repo[Symbol.asyncDispose]());
const { fix } = repo;

describe("the verification of a repair", () => {
  it("A rejected repair goes back once with the reason, and its new code is judged", async () => {
    const { result, requests, texts } = await fix([
      edit("2", "1.5"),
      finish(),
      look("present", "cart.ts:1 is one and a half."),
      edit("1.5", "1"),
      finish(),
      look("fixed"),
    ]);
    expect(answered(requests[3])).toContain("F1: cart.ts:1 is one and a half.");
    expect(answered(requests[3])).toContain('source="second look"');
    expect(answered(requests[5])).toContain("1|export const rate = 1;");
    expect(result).toMatchObject({ rounds: 2, stop_reason: "finished" });
    expect(result.repairs).toMatchObject([{ repaired: true, check: { state: "fixed" } }]);
    expect(texts).toEqual({ "cart.ts": "export const rate = 1;\n" });
  });

  it("A fix ends after its second try, whatever the result", async () => {
    const { result, requests } = await fix([
      ...[edit("2", "1.5"), finish(), look("present")],
      ...[edit("1.5", "1.4"), finish(), look("present", "It is still more than 1.")],
    ]);
    expect([requests.length, result.rounds, result.stop_reason]).toEqual([6, 2, "finished"]);
    expect(result.repairs[0]?.check).toEqual({ state: "present", reason: "It is still more than 1." });
  });

  it("A fix that ends again without further edits keeps its judgment, and pays for no other", async () => {
    const { result, requests } = await fix([
      ...[edit("2", "1.5"), finish(), look("present", "It is more than 1."), finish()],
    ]);
    expect([requests.length, result.rounds, result.stop_reason]).toEqual([4, 2, "finished"]);
    expect(result.repairs[0]?.check).toEqual({ state: "present", reason: "It is more than 1." });
  });

  it("A fix may undo what it cannot repair, and leave it to a person", async () => {
    const { result } = await fix([
      ...[edit("2", "1.5"), finish(), look("present"), edit("1.5", "2"), finish(false)],
    ]);
    expect(result).toMatchObject({ edits: [], summary: "", rounds: 2 });
    expect(result.repairs).toEqual([{ id: "f1", repaired: false, note: "Nobody knows.", check: null }]);
  });

  it("Edits that follow the last finish do not count", async () => {
    const { result, texts } = await fix([...[edit("2", "1.5"), finish(), look("present"), edit("1.5", "9")]]);
    expect(result.stop_reason).toBe("model_error");
    expect(texts).toEqual({ "cart.ts": "export const rate = 1.5;\n" });
    expect(result.repairs[0]?.check?.state).toBe("present");
  });

  it("A repair that was confirmed before is verified again after further edits", async () => {
    const other = { ...target, id: "f2", title: "The rate is no number" };
    const { result } = await fix(
      [
        ...[edit("2", "1.5"), finish(true, true), look("fixed"), look("present")],
        ...[edit("1.5", "1"), finish(true, true), look("present", "It is back."), look("fixed")],
      ],
      nothing,
      [target, other],
    );
    expect(result.repairs.map(({ check }) => check?.state)).toEqual(["present", "fixed"]);
  });
});

describe("the verification by an analyzer", () => {
  const conflict = "<<<<<<< ours\nexport const rate = 1;\n=======\nexport const rate = 2;\n>>>>>>> theirs\n";
  const marked = new FixedRepository(conflict);
  afterAll(() => marked[Symbol.asyncDispose]());
  const certain = {
    ...target,
    title: "A merge conflict is not resolved",
    source: "merge-markers/conflict",
  };
  const replace = (old_string: string, new_string: string) =>
    call("edit_file", { path: "cart.ts", old_string, new_string });

  const writeNotes = (content: string) => call("write_file", { path: "notes.ts", content });

  it("The analyzer alone judges a certain finding, and sends the repair back while its rule matches", async () => {
    const { result, requests } = await marked.fix(
      [
        ...[replace("rate = 1", "rate = 3"), finish()],
        ...[replace(conflict.replace("rate = 1", "rate = 3"), "export const rate = 2;\n"), finish()],
      ],
      nothing,
      [certain],
    );
    expect(answered(requests[2])).toContain("The rule merge-markers/conflict still matches cart.ts:1.");
    expect(requests).toHaveLength(4);
    expect(result.repairs).toMatchObject([
      { check: { state: "fixed", reason: "The rule no longer matches." } },
    ]);
  });

  it("A certain finding that only moved to another file is not fixed", async () => {
    const { result } = await marked.fix(
      [...[replace(conflict, "export const rate = 2;\n"), writeNotes(conflict), finish()], ...[finish()]],
      nothing,
      [{ ...certain, files: ["notes.ts"] }],
    );
    expect(result.repairs[0]?.check).toEqual({
      state: "present",
      reason: "The rule merge-markers/conflict still matches notes.ts:1.",
    });
  });
});
