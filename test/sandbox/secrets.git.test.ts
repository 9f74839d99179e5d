import { chmodSync, mkdirSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TempFolder } from "../support/git-repo.ts";
import { attack, sandboxFor } from "./sandbox.ts";

const { sandbox, skipped } = await sandboxFor(
  "that a command sees no secret and nothing of others on the machine",
);
const canary = "CANARY-a-secret-of-the-server";
process.env.SANDBOX_CANARY = canary;

describe.skipIf(!sandbox)(`the view of a command${skipped}`, () => {
  const folder = new TempFolder("sandbox-secrets");
  const plant = (name: string) => {
    const path = join(folder.path, name);
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, canary);
    return path;
  };
  const key = plant("key.pem");
  const tool = plant("tools/tool.txt");
  const database = plant("tools/data/queue.db");
  const environment = plant("tools/.env");
  // Behind the wall nobody is root, so that names alone must not decide.
  chmodSync(folder.path, 0o755);
  afterAll(() => folder.dispose());

  it("A command sees only programs and folders of its own", async () => {
    const { text } = await attack(sandbox, "cd / && ls -d *");
    const names = text.trim().split("\n");
    expect(names.filter((name) => !/^(bin|sbin|lib\w*|environment)$/.test(name))).toEqual([
      ...["dev", "etc", "proc", "runner", "tmp", "usr", "work"],
    ]);
    const { text: settings } = await attack(sandbox, "ls /etc");
    expect(
      settings
        .trim()
        .split("\n")
        .filter((name) => !/^ld\.so/.test(name)),
    ).toEqual(expect.arrayContaining(["group", "hosts", "passwd"]));
    expect(settings).not.toMatch(/shadow|ssh|hostname|resolv|machine-id|ssl/);
  });

  it.each(["the key file", "a home", "the server's own folder"])(
    "A command does not see %s",
    async (what) => {
      const places = {
        "the key file": key,
        "a home": "/root/.ssh /home",
        "the server's own folder": process.cwd(),
      };
      const { exitCode, text } = await attack(sandbox, `cat ${places[what as keyof typeof places]}`);
      expect(exitCode).toBe(1);
      expect(text).not.toContain(canary);
      expect(text).toMatch(/No such file or directory/);
    },
  );

  it("A command does not see the environment of the server or of any other process", async () => {
    const { text } = await attack(
      sandbox,
      "env; cat /proc/*/environ /proc/self/task/*/environ | tr '\\0' '\\n'; cat /proc/1/environ | wc -c",
    );
    expect(text).not.toMatch(/CANARY|HUNKWISE|OPENAI|SECRET/);
    // Bubblewrap has none either, which the command could read.
    expect(text.trim().split("\n").at(-1)).toBe("0");
  });

  it("A command does not see the processes of others, nor the one that watches it", async () => {
    const { text } = await attack(
      sandbox,
      "ls -d /proc/[0-9]* | wc -l; cat /proc/*/cmdline | tr '\\0' ' ' | grep -c supervisor/mai[n]",
    );
    const [count, supervisors] = text.trim().split("\n").map(Number);
    expect(count).toBeLessThanOrEqual(5);
    expect(supervisors).toBe(0);
  });

  describe("what belongs to others", () => {
    let names = "";
    beforeAll(async () => {
      names = (await attack(sandbox, "cd /proc/self/ns; for name in *; do readlink $name; done")).text;
    });

    it.each(["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"])(
      "A command does not see what belongs to others, of kind %s",
      (kind) => {
        const [own] = new RegExp(`^${kind}:\\[\\d+\\]$`, "m").exec(names) ?? [];
        expect(own).toBeDefined();
        expect(own).not.toBe(readlinkSync(`/proc/self/ns/${kind}`));
      },
    );
  });

  it("A command sees the tool chains that the operator names, and cannot change them", async () => {
    const seen = { readable: [join(folder.path, "tools")] };
    const { text } = await attack(sandbox, `cat ${tool}; echo; echo x > ${tool}; echo $PATH`, { seen });
    expect(text).toContain(canary);
    expect(text).toContain("Read-only file system");
    expect(text).toContain(`${join(folder.path, "tools/bin")}:`);
  });

  it("A command does not see what the server hides under another name of its folder", async () => {
    const named = join(folder.path, "named");
    const elsewhere = join(folder.path, "elsewhere");
    symlinkSync(join(folder.path, "tools"), named);
    symlinkSync(join(folder.path, "tools/data"), elsewhere);
    const readable = { readable: [named], hidden: [join(folder.path, "tools/data")] };
    expect((await attack(sandbox, `cat ${named}/data/queue.db`, { seen: readable })).text).not.toContain(
      canary,
    );
    const hidden = { readable: [join(folder.path, "tools")], hidden: [elsewhere] };
    expect((await attack(sandbox, `cat ${database}`, { seen: hidden })).text).not.toContain(canary);
  });

  it("A command does not see the descriptors that the server's parent left open", async () => {
    const bwrap = join(folder.path, "bwrap");
    writeFileSync(
      bwrap,
      `#!/usr/bin/perl\n$^F = 255; open(my $left, "<", "${tool}"); exec "bwrap", @ARGV;\n`,
      {
        mode: 0o755,
      },
    );
    const { text } = await attack(
      sandbox,
      "ls /proc/self/fd; for fd in /proc/self/fd/*; do readlink $fd; done",
      {
        seen: { bwrap },
      },
    );
    expect(text).not.toContain("tool.txt");
    expect(text.split("\n").slice(0, 4)).toEqual(["0", "1", "2", "3"]);
  });

  it("A command does not see what the server hides, even in such a folder", async () => {
    const seen = {
      readable: [join(folder.path, "tools")],
      hidden: [join(folder.path, "tools/data"), environment, join(folder.path, "tools/gone")],
    };
    const { text } = await attack(sandbox, `cat ${database} ${environment}; ls ${folder.path}/tools/data`, {
      seen,
    });
    expect(text).not.toContain(canary);
    expect(text).toContain("No such file or directory");
  });
});
