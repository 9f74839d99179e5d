import { describe, expect, it } from "vitest";
import { admission } from "../../../src/cli/action/event.ts";
import type { ActionEnv } from "../../../src/config/action-env.ts";
import type { Permission } from "../../../src/pull/github/pull-request-api.ts";

const inputs = { reviewsOf: "collaborators", reviewLabel: "hunkwise" } as ActionEnv["inputs"];
const head = "a".repeat(40);
const fork = {
  ...{ owner: "mallory", repo: "shop", branch: "change", isDefault: false, maintainersMayPush: true },
  isFork: true,
};
const pull = { author: "mallory", headSha: head, source: fork };
const people: Record<string, Permission> = { mallory: "read", ann: "write", root: "admin", trudy: "read" };
const api = { permissionOf: async (login: string) => people[login] ?? "none" };
const opened = { name: "pull_request_target", labeled: null };
const labeled = (by: string, label = "hunkwise", at = head) => ({
  ...opened,
  labeled: { label, by, head: at },
});

const isOpen = async (
  event: Parameters<typeof admission>[0],
  of: Partial<typeof pull> = {},
  given = inputs,
) => (await admission(event, given, { ...pull, ...of }, api)).admitted;

describe("The gate of the Action", () => {
  it("The gate admits people with write access, by GitHub's word alone", async () => {
    for (const author of ["ann", "root"]) expect(await isOpen(opened, { author })).toBe(true);
    for (const author of ["mallory", "trudy", "ghost", "nobody"])
      expect(await isOpen(opened, { author })).toBe(false);
  });

  it("The gate admits a branch of the repository itself, to which only they can push", async () => {
    expect(await isOpen(opened, { source: { ...fork, isFork: false } })).toBe(true);
    expect(await isOpen(opened, { source: null as never })).toBe(false);
  });

  it("The gate opens with a label for the head that it was added to", async () => {
    expect(await isOpen(labeled("ann"))).toBe(true);
    expect(await isOpen(labeled("ann", "HunkWise"))).toBe(true);
    expect(await isOpen(labeled("ann"), { headSha: "b".repeat(40) })).toBe(false);
  });

  it("The gate opens for no other label, and for nobody who may only label", async () => {
    expect(await isOpen(labeled("ann", "bug"))).toBe(false);
    expect(await isOpen(labeled("trudy"))).toBe(false);
    expect(await isOpen(labeled("mallory"))).toBe(false);
  });

  it("The gate names the head that the label was for, and none for others", async () => {
    expect(await admission(labeled("ann"), inputs, pull, api)).toEqual({ admitted: true, head });
    expect(await admission(opened, inputs, { ...pull, author: "ann" }, api)).toEqual({
      admitted: true,
      head: null,
    });
  });

  it("The gate tells the author what may be done", async () => {
    const closed = await admission(opened, { ...inputs, reviewLabel: "please" }, pull, api);
    expect(closed).toMatchObject({
      because: expect.stringMatching(/mallory cannot write.*label "please".*\/review/),
    });
  });

  it("The gate is open to everyone if the workflow says so, and to who starts a workflow by hand", async () => {
    expect(await isOpen(opened, {}, { ...inputs, reviewsOf: "everyone" })).toBe(true);
    expect(await isOpen({ ...opened, name: "workflow_dispatch" })).toBe(true);
    expect(await isOpen({ ...opened, name: "workflow_run" })).toBe(false);
  });

  it("The gate rejects if GitHub cannot be asked, and admits nobody by chance", async () => {
    const down = { permissionOf: async () => Promise.reject(new Error("down")) };
    await expect(admission(opened, inputs, pull, down)).rejects.toThrow("down");
  });
});
