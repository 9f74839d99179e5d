import { describe, expect, it } from "vitest";
import type { LeftFile } from "../../src/sandbox/from-supervisor.ts";
import { attack, perl, sandboxFor } from "./sandbox.ts";

const long = process.env.HUNKWISE_LONG === "1";

const { sandbox, skipped } = await sandboxFor("that nothing a command leaves behind leads anywhere");
const file = (path: string, text: string, mode: "100644" | "100755" | "120000" = "100644") => ({
  ...{ path, mode, bytes: Buffer.from(text) },
});
const files = [
  file("a.txt", "one\n"),
  file("sub/run.sh", "exit 0\n", "100755"),
  file("link", "a.txt", "120000"),
];
const all = (left: readonly LeftFile[]) => left.map(({ path }) => path);

/** What is handed out of what a command left, and what it says is different. */
async function leave(command: string) {
  const { outcome } = await attack(sandbox, command, { files, wants: all, maxFileBytes: 1_000 });
  return {
    said: outcome.left.map(({ path, kind }) => `${kind} ${path}`).toSorted(),
    taken: outcome.taken.map(({ path, bytes, executable }) => [path, bytes.toString("latin1"), executable]),
    odd: outcome.odd.length,
    tooMany: outcome.tooMany,
  };
}

describe.skipIf(!sandbox)(`what a command leaves behind${skipped}`, () => {
  it("Changed and new files are handed out, and those that are gone are named", async () => {
    const seen = await leave(
      "cat link sub/run.sh; echo two >> a.txt; rm sub/run.sh; echo new > b; chmod +x b; touch -h link",
    );
    expect(seen).toEqual({
      said: ["changed a.txt", "gone sub/run.sh", "new b"],
      taken: expect.arrayContaining([
        ["a.txt", "one\ntwo\n", false],
        ["b", "new\n", true],
      ]),
      // The link, whose time is another one.
      ...{ odd: 1, tooMany: false },
    });
  });

  it("Nothing is said of what was only read", async () => {
    expect(await leave("cat a.txt; sh sub/run.sh; ls -laR")).toEqual({
      said: [],
      taken: [],
      odd: 0,
      tooMany: false,
    });
  });

  it("Links are never followed, wherever they lead", async () => {
    const seen = await leave(
      "ln -s /etc/passwd out; ln -sf /supervisor/node a.txt; rm -r sub; ln -s /etc sub; ln -s . loop",
    );
    expect(seen).toEqual({ said: ["gone sub/run.sh"], taken: [], odd: 4, tooMany: false });
  });

  it("Pipes, sockets and files that are all holes are not read", async () => {
    const seen = await leave(
      `mkfifo pipe; perl -e 'use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, pack_sockaddr_un("socket"))'; truncate -s 50M holes`,
    );
    expect(seen).toEqual({ said: ["new holes"], taken: [], odd: 2, tooMany: false });
  });

  it("A folder that a command closed is opened again", async () => {
    const seen = await leave("mkdir d; echo x > d/f; chmod 000 d/f d; echo y > a.txt; chmod 000 a.txt sub .");
    expect(seen.said).toEqual(["changed a.txt", "new d/f"]);
    expect(seen.taken).toEqual(expect.arrayContaining([["d/f", "x\n", false]]));
  });

  it("Names come back byte for byte, and git's own folder does not", async () => {
    const seen = await leave(`echo 1 > 'a
b'; printf 2 > "$(printf 'caf\\351')"; mkdir -p .git/hooks sub/.git; echo 3 > .git/config; echo 4 > sub/.git/config`);
    expect(seen.said).toEqual(["new a\nb", "new caf\xe9"]);
  });

  it("An endless tree is not read", async () => {
    const deep = perl(`my $name = "a" x 20; for (1 .. 400) { mkdir $name; chdir $name }`);
    expect(await leave(deep)).toMatchObject({ tooMany: true, taken: [] });
  });

  it.runIf(long)("Too long a list of names is not sent", async () => {
    const script =
      'my $d = "."; for (1 .. 15) { $d .= "/" . "x" x 240; mkdir $d } chdir $d; for (1 .. 9_000) { open(F, ">", "f$_") or die $!; close F }';
    const { outcome } = await attack(sandbox, perl(script), { limits: { files: 20_000 } });
    expect([outcome.ended, outcome.tooMany]).toEqual([null, true]);
  });

  it.each([
    ["below a link", [file("d", "/dev", "120000"), file("d/x", "x")]],
    ["outside of the workspace", [file("../tmp/x", "x")]],
  ])("Nothing is put %s, whatever a repository says", async (_, hostile) => {
    await expect(attack(sandbox, "true", { files: hostile })).rejects.toThrow(
      "is not a folder of the workspace",
    );
  });

  it("A folder that became a file and a file that became a folder are both listed", async () => {
    const seen = await leave("rm -r sub; echo x > sub; rm a.txt; mkdir a.txt; echo y > a.txt/b");
    expect(seen.said).toEqual(["gone a.txt", "gone sub/run.sh", "new a.txt/b", "new sub"]);
  });
});
