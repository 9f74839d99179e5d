import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { TempFolder } from "../support/git-repo.ts";
import { attack, perl, sandboxFor } from "./sandbox.ts";

const long = process.env.HUNKWISE_LONG === "1";

const { sandbox, skipped } = await sandboxFor(
  "that a command gets no more memory, disk, processes and output than allowed",
);
const MIB = 1024 * 1024;
const mmap = process.arch === "x64" ? 9 : 222;

describe.skipIf(!sandbox)(`the resources of a command${skipped}`, () => {
  it("A command takes no more than allowed of the disk, with a file of 10 GB", async () => {
    const limits = { filesBytes: 24 * MIB, fileBytes: 1024 * MIB };
    const { text, exitCode } = await attack(
      sandbox,
      "dd if=/dev/zero of=big bs=1M count=10240 2>/dev/null; code=$?; stat -c %s big; exit $code",
      { limits },
    );
    expect(exitCode).toBe(1);
    expect(Number(text)).toBeLessThanOrEqual(24 * MIB);
    expect(Number(text)).toBeGreaterThan(20 * MIB);
  });

  it("A command takes no more than allowed of the disk, with a file of 10 GB that is all holes", async () => {
    const { text } = await attack(sandbox, "truncate -s 10G big; stat -c %s big", {
      limits: { fileBytes: 8 * MIB },
    });
    expect(text).toMatch(/^File size limit exceeded|File too large/m);
    expect(text).toMatch(/^0$/m);
  });

  it("A command takes no more than allowed of the disk, with small files without end", async () => {
    const { ended, text } = await attack(
      sandbox,
      perl('mkdir "d"; for (my $n = 0; $n < 5e4; $n++) { open(F, ">", "d/$n") or die "$n: $!"; close F }'),
    );
    expect([ended, text]).toEqual(["files", ""]);
  });

  it("A command takes no more than allowed of the disk, in /tmp", async () => {
    const fill = (path: string) =>
      `dd if=/dev/zero of=${path} bs=1M count=64 2>/dev/null; stat -c %s ${path}`;
    const { text } = await attack(sandbox, ["/tmp/a", "/dev/shm/a", "a"].map(fill).join("; "), {
      limits: { filesBytes: 24 * MIB, fileBytes: 64 * MIB },
    });
    const sizes = text.trim().split("\n").map(Number);
    expect(sizes).toHaveLength(3);
    expect(sizes.reduce((a, b) => a + b)).toBeLessThanOrEqual(24 * MIB);
  });

  it("A command takes no more than allowed of memory, with one process", async () => {
    const { text, ended } = await attack(sandbox, perl('my $n = 4e9; my $x = "x" x $n; print "got it"'), {
      limits: { memoryBytes: 96 * MIB },
    });
    expect([text, ended]).toEqual(["Out of memory!\n", null]);
  });

  it("A command takes no more than allowed of memory, with many processes that are each small", async () => {
    const hold = perl('my $n = 2e7; my $x = "x" x $n; print "."; sleep 600');
    const { ended } = await attack(sandbox, `for i in 1 2 3 4 5 6 7 8; do ${hold} & done; wait`, {
      limits: { memoryBytes: 120 * MIB },
    });
    expect(ended).toBe("memory");
  });

  it("A command takes no more than allowed of memory, with files and processes together", async () => {
    const { ended } = await attack(
      sandbox,
      `dd if=/dev/zero of=/tmp/a bs=1M count=120 2>/dev/null; ${perl('my $n = 6e7; my $x = "x" x $n; sleep 600')}`,
      { limits: { memoryBytes: 150 * MIB, filesBytes: 140 * MIB, fileBytes: 140 * MIB } },
    );
    expect(ended).toBe("memory");
  });

  it("A command takes no more than allowed of memory that the machine does not have to spare", async () => {
    const { ended } = await attack(sandbox, "sleep 600", {
      limits: { spareBytes: 2 ** 60 },
      timeoutMs: 5_000,
    });
    expect(ended).toBe("memory");
  });

  it("A command takes no more than allowed of memory that processes share, counted once", async () => {
    const share = perl(
      'my $n = 4e7; my $x = "x" x $n; fork; fork; fork; sleep 1; print length($x) == 4e7 ? "." : "!"; 1 while wait > 0',
    );
    const { text, ended } = await attack(sandbox, share, { limits: { memoryBytes: 200 * MIB } });
    expect([text, ended]).toEqual(["........", null]);
  });

  it.runIf(long)(
    "A command takes no more than allowed of memory that the kernel keeps for them",
    async () => {
      // A page read in each 2 MB of a mapping costs a table each, and is none that the process has in memory.
      const tables = `my $n = 150_000; my $at = syscall(${mmap}, 0, $n << 21, 1, 0x4022, -1, 0); `;
      const fill = 'for (my $i = 0; $i < $n; $i++) { unpack("P1", pack("Q", $at + ($i << 21))) } sleep 600';
      const { ended } = await attack(sandbox, perl(tables + fill), { limits: { memoryBytes: 96 * MIB } });
      expect(ended).toBe("memory");
    },
  );

  it("A command takes no more than allowed of memory in the kernel", async () => {
    const fill = perl(
      "use Socket; my @all; for (1 .. 400) { socketpair(my $one, my $other, AF_UNIX, SOCK_STREAM, 0); push @all, $one, $other; " +
        'for ($one, $other) { 1 while defined send($_, "x" x 32_768, MSG_DONTWAIT) } } sleep 600',
    );
    const { ended } = await attack(sandbox, fill, { limits: { memoryBytes: 96 * MIB } });
    expect(ended).toBe("memory");
  });

  it("A command takes no more than allowed of output, and head and tail of it are kept", async () => {
    const { ended, outcome } = await attack(sandbox, "echo first; yes", {
      limits: { keptBytes: 1_000 },
      timeoutMs: 5_000,
    });
    expect(ended).toBe("output");
    expect(outcome.truncated).toBe(true);
    expect(outcome.stdout.length).toBeLessThan(2_100);
    expect(outcome.stdout.toString()).toMatch(
      /^first\ny\n[\s\S]*\n\[\.\.\. \d+ bytes left out here \.\.\.\]\n[\s\S]*y\n/,
    );
  });

  it("A command takes no more than allowed of output on both ways out", async () => {
    const { ended } = await attack(sandbox, "yes >&2 & yes", { timeoutMs: 5_000 });
    expect(ended).toBe("output");
  });

  it("A command takes no more than allowed of the processor, before others who want it", async () => {
    const { text } = await attack(sandbox, "cut -d' ' -f19 /proc/self/stat; cat /proc/self/oom_score_adj");
    expect(text).toBe("19\n1000\n");
  });

  it("Whatever its environment makes programs load", async () => {
    const { text } = await attack(sandbox, "true", { env: { LD_SHOW_AUXV: "1" } });
    expect(text.match(/(?<=^AT_EXECFN: +)\S+/gm)).toEqual(["/bin/sh"]);
  });

  it("A command takes no more than allowed of open files", async () => {
    const { text } = await attack(sandbox, "ulimit -n", { limits: { openFiles: 99 } });
    expect(text).toBe("99\n");
  });

  it("A command takes no more than allowed of core dumps, whatever the server's own limit", async () => {
    // Where the server's own limit is another one.
    using folder = new TempFolder("sandbox-core");
    const bwrap = join(folder.path, "bwrap");
    writeFileSync(bwrap, '#!/bin/sh\nexec prlimit --core=1000000 -- bwrap "$@"\n', { mode: 0o755 });
    chmodSync(folder.path, 0o755);
    const asked = "prlimit --core --noheadings --raw -o SOFT,HARD";
    expect((await attack(sandbox, asked, { seen: { bwrap } })).text).toBe("1 1\n");
  });
});
