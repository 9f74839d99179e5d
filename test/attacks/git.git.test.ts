import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openWorkspace } from "../../src/repo/git/object-workspace.ts";
import { openLocalRange } from "../../src/repo/git/range.ts";
import { runGit } from "../../src/repo/git/run-git.ts";
import { ripgrepArguments } from "../../src/repo/git/search.ts";
import { everyWay, query, review, Sentinel } from "../support/every-way.ts";
import { type Content, GitRepo, gitPath, TempFolder } from "../support/git-repo.ts";
import { PullRequestServer } from "../support/pull-request-server.ts";
import { runCli } from "../support/run-cli.ts";
import { countingServer, hostileMachine, optionsOf, programs, toolFiles } from "./git-vectors.ts";

let sentinel: Sentinel;
beforeEach(() => {
  sentinel = new Sentinel();
});
afterEach(() => sentinel[Symbol.dispose]());

describe("text that starts like an option", () => {
  it("argv-injection: Text like an option is an unknown revision", async () => {
    using repo = GitRepo.create({ bare: true });
    repo.importCommits([{ branch: "main", files: [["a", "a\n"]] }]);
    for (const option of optionsOf(sentinel)) {
      for (const range of [
        { base: option, head: "main" },
        { base: "main", head: option },
      ])
        await expect(openLocalRange({ repo: repo.dir, ...range, gitPath })).rejects.toMatchObject({
          code: "revision_unknown",
        });
    }
    expect(sentinel.starts).toBe("nothing ran");
  });

  it("argv-injection: A branch named like an option is a normal branch, locally and on a server", async () => {
    await using server = await PullRequestServer.start();
    const { head, base } = server.publish();
    for (const name of [`--upload-pack=${sentinel.command}`, `-O${sentinel.command}`, "--output=x"]) {
      // Git itself refuses a branch of this name; a server may have one.
      const ref = join(server.repo.dir, "refs/heads", name);
      mkdirSync(join(ref, ".."), { recursive: true });
      writeFileSync(ref, `${base}\n`);
      const opened = await server.checkout(
        { head, base },
        { base: { sha: base, ref: `refs/heads/${name}` } },
      );
      expect((await review(opened.place)).changes.length).toBeGreaterThan(0);
      await opened.release();
      const local = { repo: server.repo.dir, base: `refs/heads/${name}`, head: head, gitPath };
      await using range = await openLocalRange(local);
      expect(range.place.shas.base).toBe(base);
    }
    expect(sentinel.starts).toBe("nothing ran");
  });

  it("argv-injection: Text like an option is a pattern, glob, type or path, and never an option of ripgrep", async () => {
    using repo = GitRepo.create({ bare: true });
    const options = optionsOf(sentinel);
    // No path contains two slashes.
    const names = options.filter((option) => !option.includes("//"));
    const lines = options.map((option) => `${option}\n`).join("");
    repo.importCommits([
      { branch: "main", files: [["a.txt", lines], ...names.map((one) => [one, "x\n"] as const)] },
    ]);
    await using range = await openLocalRange({ repo: repo.dir, base: "main", head: "main", gitPath });
    await using workspace = openWorkspace(range.place);
    const search = (more: object) => workspace.search({ ...query, ...more }, AbortSignal.timeout(30_000));
    for (const option of options) {
      expect(await search({ pattern: option, path: "a.txt" })).toMatchObject({
        matches: [{ path: "a.txt" }],
      });
      await expect(search({ fileType: option })).rejects.toMatchObject({ code: "usage" });
      await search({ filePattern: option }).catch((error) => expect(error.code).toBe("usage"));
      const args = ripgrepArguments(
        { ...query, pattern: option, filePattern: option, fileType: option },
        option,
      );
      const given = args.filter((one) => one.includes(option));
      expect(given).toEqual([`--type=${option}`, `--glob=${option}`, `--regexp=${option}`, `./${option}`]);
      expect(args.indexOf("--")).toBe(args.length - 2);
    }
    for (const path of names)
      expect(await search({ pattern: "x", path })).toMatchObject({ matches: [{ path }] });
    expect(sentinel.starts).toBe("nothing ran");
  });
});

describe("an address of another protocol", () => {
  it("foreign-protocols: A mirror refuses an address of another protocol", async () => {
    await using server = await PullRequestServer.start();
    const { command, file } = sentinel;
    const urls = [`ext::${command}`, `ext::sh -c ${command}`, `file://${file}`, "fd::7", "git://host/x"];
    const more = [
      `ssh://-oProxyCommand=${command}/x`,
      "ftp://host/x",
      `-u${command}`,
      `--upload-pack=${command}`,
    ];
    for (const url of [...urls, ...more]) await expect(server.mirror({ url })).rejects.toThrow();
    expect(sentinel.starts).toBe("nothing ran");
  });

  it("foreign-protocols: Git itself refuses an address of another protocol, for every caller", async () => {
    using repo = GitRepo.create({ bare: true });
    using home = new TempFolder("home");
    const git = { gitPath, emptyHome: home.path };
    const { command } = sentinel;
    const urls = [
      `ext::${command} %S x`,
      `file://${repo.dir}`,
      repo.dir,
      "fd::7",
      `ssh://host/x`,
      "http://127.0.0.1:1/x",
    ];
    for (const url of urls) {
      const asked = runGit({ git, gitDir: repo.dir, what: "ask", args: ["ls-remote", url] });
      await expect(asked).rejects.toThrow(/not allowed|transport/);
    }
    expect(sentinel.starts).toBe("nothing ran");
  });

  it("foreign-protocols: An address in submodules and in the configuration of large files is plain text", async () => {
    const server = await countingServer();
    const submodule = (name: string, url: string) =>
      `[submodule "${name}"]\n\tpath = ${name}\n\turl = ${url}\n\tupdate = !${sentinel.command}\n`;
    const { command } = sentinel;
    const urls = [
      `ext::${command}`,
      `file:///`,
      "fd::0",
      `ssh://-oProxyCommand=${command}/x`,
      server.url,
      `-u${command}`,
    ];
    const files: Record<string, Content> = {
      ".gitmodules": urls.map((url, at) => submodule(`s${at}`, url)).join(""),
      ".lfsconfig": `[lfs]\n\turl = ${server.url}\n[lfs "customtransfer.evil"]\n\tpath = ${command}\n[lfs]\n\tstandalonetransferagent = evil\n`,
      ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n",
      "a.bin": `version https://git-lfs.github.com/spec/v1\noid sha256:${"1".repeat(64)}\nsize 9\n`,
      "a.txt": "needle\n",
    };
    for (const at of urls.keys()) files[`s${at}`] = { mode: "160000", data: String(at + 1).repeat(40) };
    await everyWay(sentinel, { "a.txt": "old\n" }, files, async (place) => {
      const seen = await review(place);
      expect(seen.patches[".gitmodules"]).toContain(`+\turl = ext::${command}`);
      expect(seen.patches["a.bin"]).toContain("+oid sha256:");
      if (!place.isCheckedOut) return;
      expect(readFileSync(join(place.root, "a.bin"), "utf8")).toBe(files["a.bin"]);
      for (const at of urls.keys()) expect(readdirSync(join(place.root, `s${at}`))).toEqual([]);
    });
    expect(server.asked()).toBe(0);
    await server.close();
  });
});

describe("what git would run", () => {
  it("code-in-git: No hook, filter, driver, helper or alias of the reviewed repository runs", async () => {
    await everyWay(
      sentinel,
      {
        "a.txt": "needle\n",
        "b.md": "b\n",
        ".gitattributes": "*.txt filter=evil diff=evil merge=evil\n*.md diff=evil\n",
      },
      { "a.txt": "needle 2\n", "b.md": "b2\n" },
      async (place) => {
        const seen = await review(place);
        expect(seen.found).toEqual(["a.txt"]);
        expect(seen.patches["b.md"]).toContain("+b2");
      },
      (repo) => {
        const hooks = join(repo.dir, ".git", "hooks");
        mkdirSync(hooks, { recursive: true });
        for (const hook of ["post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc"]) {
          writeFileSync(join(hooks, hook), readFileSync(sentinel.command), { mode: 0o755 });
        }
        const settings = {
          "core.fsmonitor": sentinel.command,
          "core.hooksPath": hooks,
          "core.pager": sentinel.command,
          "core.sshCommand": sentinel.command,
          "core.alternateRefsCommand": sentinel.command,
          "core.askPass": sentinel.command,
          "credential.helper": sentinel.command,
          "diff.external": sentinel.command,
          "diff.evil.command": sentinel.command,
          "diff.evil.textconv": sentinel.command,
          "filter.evil.smudge": sentinel.command,
          "filter.evil.clean": sentinel.command,
          "filter.evil.process": sentinel.command,
          "filter.evil.required": "true",
          "gpg.program": sentinel.command,
          "log.showSignature": "true",
          "uploadpack.packObjectsHook": sentinel.command,
          "alias.diff-tree": `!${sentinel.command}`,
          "alias.ls-tree": `!${sentinel.command}`,
          "trace2.normalTarget": sentinel.file,
          "submodule.recurse": "true",
        };
        // A file that is checked out and then changed to the same size, so that git must run the filter to detect the change.
        repo.git("checkout", "-qf", "main");
        writeFileSync(join(repo.dir, "a.txt"), "dirty!\n");
        for (const [key, value] of Object.entries(settings)) repo.git("config", key, value);
        // An unprotected git runs the attack.
        repo.bytes(["diff", "main", "topic"], "", [0, 128]);
        expect(sentinel.starts).toContain("attack.sh");
      },
    );
  });

  it("code-in-git: The fsmonitor of a bare repository in the tree does not run", async () => {
    const bare = {
      "vendor/evil/HEAD": "ref: refs/heads/main\n",
      "vendor/evil/config": `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ..\n\tfsmonitor = ${sentinel.command}\n`,
      "vendor/evil/objects/info/keep": "",
      "vendor/evil/refs/keep": "",
    };
    await everyWay(sentinel, { "a.txt": "needle\n" }, bare, async (place) => {
      expect((await review(place)).found).toEqual(["a.txt"]);
      const inside = join(place.root, "vendor", "evil");
      // In such a folder, the command line finds the repository around it, not this one.
      await expect(openLocalRange({ repo: inside, base: "HEAD", head: "HEAD", gitPath })).rejects.toThrow();
    });
  });

  it("submodules: A submodule is never fetched, and its change is shown as text", async () => {
    const gitmodules = (url: string) =>
      `[submodule "s"]\n\tpath = s\n\turl = ${url}\n\tupdate = !${sentinel.command}\n`;
    await everyWay(
      sentinel,
      {
        "a.txt": "needle\n",
        ".gitmodules": gitmodules("ext::sh -c evil"),
        s: { mode: "160000", data: "1".repeat(40) },
      },
      { ".gitmodules": gitmodules("--upload-pack=evil"), s: { mode: "160000", data: "2".repeat(40) } },
      async (place) => {
        const seen = await review(place);
        expect(seen.patches.s).toContain(
          `-Subproject commit ${"1".repeat(40)}\n+Subproject commit ${"2".repeat(40)}`,
        );
        if (place.isCheckedOut) expect(readdirSync(join(place.root, "s"))).toEqual([]);
      },
    );
  });

  it("code-in-git: No program of the machine's, the home folder's or the environment's configuration runs", async () => {
    using home = new TempFolder("home");
    const hostile = hostileMachine(sentinel, home.path);
    const before = { ...process.env };
    const files = { "a.txt": "needle\n", "b.bin": "b\n" };
    try {
      await everyWay(
        sentinel,
        { ...files, ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs\n" },
        { "a.txt": "needle 2\n", "b.bin": "b2\n" },
        async (place) => expect((await review(place)).patches["b.bin"]).toContain("+b2"),
        () => Object.assign(process.env, hostile),
      );
    } finally {
      for (const name of Object.keys(hostile)) delete process.env[name];
      Object.assign(process.env, before);
    }
  });

  it.each([
    [
      "CVE-2024-32002: a link that is the submodule's folder where upper and lower case are one",
      { "A/modules/x": { mode: "160000", data: "1".repeat(40) }, a: { mode: "120000", data: ".git" } },
      "A/modules/x",
    ],
    [
      "CVE-2025-48384: a path that ends with a carriage return, and a link of that name without it",
      {
        "sub\r": { mode: "160000", data: "1".repeat(40) },
        sub: { mode: "120000", data: ".git/modules/sub/hooks" },
      },
      "sub\r",
    ],
  ] as const)("submodules: No program runs by %s", async (_, entries, path) => {
    const hook = `#!/bin/sh\n${sentinel.command}\n`;
    const gitmodules = `[submodule "x/y"]\n\tpath = "${path}"\n\turl = ./hooks\n\tupdate = checkout\n`;
    const head = {
      ...entries,
      ".gitmodules": gitmodules,
      "y/hooks/post-checkout": { mode: "100755", data: hook },
    } as const;
    await everyWay(sentinel, { "a.txt": "needle\n" }, head, async (place) => {
      const seen = await review(place);
      expect(seen.patches[path]).toContain(`+Subproject commit ${"1".repeat(40)}`);
      expect(existsSync(join(place.gitDir, "modules"))).toBe(false);
      if (!place.isCheckedOut) return;
      const names = readdirSync(place.root, { recursive: true, encoding: "utf8" });
      expect(names.filter((name) => /(^|\/)\.git(\/|$)/i.test(name))).toEqual([]);
      for (const name of names) expect(lstatSync(join(place.root, name)).isSymbolicLink()).toBe(false);
      expect(readdirSync(join(place.root, path))).toEqual([]);
    });
  });
});

describe("what tools would load from the repository", () => {
  it("repository-tools: What tools would load from the repository is neither run nor obeyed", async () => {
    using repo = GitRepo.create();
    const bin = new TempFolder("bin");
    const script = readFileSync(sentinel.command);
    for (const name of programs) writeFileSync(join(bin.path, name), script, { mode: 0o755 });
    const files = toolFiles(sentinel);
    const key = `ghp_${"aZ3kQ9".repeat(6)}`;
    repo.commit("Start", { "cart.py": "def total(items):\n    return sum(items)\n" });
    repo.branch("topic");
    repo.commit("Configure everything", {
      ...files,
      "cart.py": `def total(items, seen=[]):\n    seen.append(items)\n    return sum(seen)\nKEY = "${key}"\n`,
    });
    sentinel.forget();
    const run = await runCli(["review", "--repo", repo.dir, "--base", "main", "--format", "json"], {
      cwd: repo.dir,
      env: {
        PATH: `${bin.path}:${process.env.PATH}`,
        HOME: repo.dir,
        RIPGREP_CONFIG_PATH: join(repo.dir, ".ripgreprc"),
      },
    });
    bin.dispose();
    expect([run.code, run.stderr]).toEqual([1, expect.any(String)]);
    const found: { path: string; line: number }[] = JSON.parse(run.stdout).findings;
    const places = found.map(({ path, line }) => `${path}:${line}`);
    expect(places).toEqual(expect.arrayContaining(["cart.py:1", "cart.py:4"]));
    expect(sentinel.starts).toBe("nothing ran");
  });

  it("repository-tools: A search takes a file that configures searches as plain text", async () => {
    await everyWay(sentinel, { "a.txt": "needle\n" }, toolFiles(sentinel), async (place) => {
      await using workspace = openWorkspace(place);
      const hits = await workspace.search({ ...query, pattern: "attack.sh" }, AbortSignal.timeout(30_000));
      const paths = hits.mode === "content" ? hits.matches.map(({ path }) => path) : [];
      expect(paths).toEqual(expect.arrayContaining([".ripgreprc", "Makefile", ".claude/settings.json"]));
    });
  });
});
