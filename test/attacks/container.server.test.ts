import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import packageJson from "../../package.json" with { type: "json" };
import { withAgreeingSceptic } from "../support/agreeing-sceptic.ts";
import { containerWith, runInside, whyNoContainer } from "../support/bubblewrap.ts";
import { programEntry } from "../support/built-program.ts";
import { startFakeOpenAi } from "../support/fake-openai.ts";
import { TempFolder } from "../support/git-repo.ts";
import { deliver } from "../support/github-double/deliver.ts";
import { pullRequestPayload } from "../support/github-double/payloads.ts";
import { createScenario } from "../support/github-double/scenario.ts";
import { startServerProcess } from "../support/server-process.ts";
import { shortTimes } from "../support/short-times.ts";

const root = resolve(import.meta.dirname, "../..");
const read = (name: string) => readFileSync(join(root, name), "utf8");

/** The instructions of the Dockerfile, without comments and with continued lines joined. */
const instructions = read("Dockerfile")
  .replace(/^ *#.*\n/gm, "")
  .replace(/\\\n/g, " ")
  .split("\n")
  .filter((line) => line.trim() !== "");

describe("the image", () => {
  it("The image runs as a user that is not root, who owns none of its code", () => {
    const last = instructions.slice(instructions.findLastIndex((one) => one.startsWith("FROM ")));
    expect(last.filter((one) => one.startsWith("USER "))).toEqual(["USER 1000"]);
    expect(last.filter((one) => /^(COPY|ADD)\b/.test(one) && /--(chown|chmod)/.test(one))).toEqual([]);
  });

  it("Each program that the image starts is in the build, and a review process without a parent ends", () => {
    const named = new Set(read("Dockerfile").match(/(?<=\bdist\/)[\w/-]+\.js/g));
    expect(named).toEqual(new Set(["border/review-process.js", "cli.js"]));
    const built = dirname(programEntry);
    expect([...named].filter((name) => !existsSync(join(built, name)))).toEqual([]);
    const { status } = spawnSync(process.execPath, [join(built, "border/review-process.js")], {
      stdio: "ignore",
    });
    expect(status).toBe(0);
  });

  it("The image is built with everything that the package contains", () => {
    const sent = (read(".dockerignore").match(/^!.*$/gm) ?? []).map((line) => line.slice(1));
    const isSent = (path: string) =>
      sent.includes(path) || sent.includes(path.replace(/[^/]*(\.schema\.json)$/, "*$1"));
    const scripts = ["build"];
    for (const name of scripts) {
      const imported = read(`scripts/${name}.ts`).matchAll(/from "\.\/([\w-]+)\.ts"/g);
      for (const [, found = ""] of imported) if (!scripts.includes(found)) scripts.push(found);
    }
    const wanted = [
      ...packageJson.files.filter((path) => path !== "dist"),
      ...scripts.map((name) => `scripts/${name}.ts`),
      ...["src", "package.json", "package-lock.json", "LICENSE"],
    ];
    expect(wanted.filter((path) => !isSent(path))).toEqual([]);
    expect(sent.filter((one) => /\.env|\.git|hunkwise|test|fixtures/.test(one))).toEqual([]);
  });

  it("The image holds no secret", () => {
    const values = instructions.filter((one) => /^(ENV|ARG|LABEL)\b/.test(one)).join("\n");
    expect(values).not.toMatch(/KEY|SECRET|TOKEN|PASSWORD|DATABASE_URL|APP_ID/);
    expect(read(".dockerignore").split("\n")[0]).toBe("*");
  });
});

interface Service {
  read_only?: boolean;
  tmpfs?: string[];
  cap_drop?: string[];
  security_opt?: string[];
  mem_limit?: string;
  pids_limit?: number;
  volumes?: (string | { source: string; target: string; read_only?: boolean })[];
  [other: string]: unknown;
}

describe("each container of compose.yml that runs Hunkwise", () => {
  const { services }: { services: Record<string, Service> } = parse(read("compose.yml"), { merge: true });
  const ours = Object.entries(services).filter(([, { build }]) => build !== undefined);

  it("The containers of Hunkwise are two", () =>
    expect(ours.map(([name]) => name)).toEqual(["hunkwise", "worker"]));

  it.each(ours)("A container is read-only and gains no privilege: %s", (_, service) => {
    expect(service.read_only).toBe(true);
    expect(service.cap_drop).toEqual(["ALL"]);
    expect(service.security_opt).toEqual(["no-new-privileges:true"]);
    const loosening = [
      "privileged",
      "cap_add",
      "devices",
      "user",
      "pid",
      "ipc",
      "network_mode",
      "userns_mode",
    ];
    expect(loosening.filter((key) => key in service)).toEqual([]);
  });

  it.each(ours)("A container writes only to its data and a small /tmp without programs: %s", (_, service) => {
    const [tmp = "", ...others] = service.tmpfs ?? [];
    expect(others).toEqual([]);
    const [place, options = ""] = tmp.split(":");
    expect(place).toBe("/tmp");
    expect(options.split(",")).toEqual(expect.arrayContaining(["size=512m", "noexec", "nosuid", "nodev"]));
    const writable = (service.volumes ?? []).flatMap((volume) => {
      if (typeof volume === "string") return [volume.split(":").at(-1)];
      return volume.read_only ? [] : [volume.source];
    });
    // The folder for notes, if the operator sets one.
    expect(writable).toEqual(["/data", `\${HUNKWISE_LOGSEQ_DIR:-/dev/null}`]);
  });

  it.each(ours)("A container has limited memory and processes: %s", (_, service) => {
    expect(service.mem_limit).toMatch(/^[1-9]g$/);
    expect(service.pids_limit).toBeLessThanOrEqual(1_024);
  });

  it("The database beside it gains no privilege either", () => {
    expect(services.postgres?.security_opt).toEqual(["no-new-privileges:true"]);
  });
});

const finding = {
  name: "report_finding",
  arguments: {
    ...{ path: "src/list.js", line: 1, quote: "export const first = (list) => list[1];", severity: "high" },
    ...{
      category: "correctness",
      title: "The second is taken for the first",
      body: "Lists begin at 0.",
      confidence: 0.9,
    },
  },
};

describe("a server without a place to write but its data and /tmp, as nobody", () => {
  const data = new TempFolder("container");
  const reason = whyNoContainer(data.path);
  const inside = containerWith(data.path);
  afterAll(() => data.dispose());

  it.skipIf(reason !== null)(
    `A server in a container writes nowhere else${reason === null ? "" : ` (skipped: ${reason})`}`,
    () => {
      const script = `
      import { writeFileSync, readFileSync } from "node:fs";
      const places = ${JSON.stringify([root, join(root, "node_modules"), "/etc", "/usr/bin", "/var/tmp", "/home", data.path, "/tmp"])};
      const writable = places.filter((place) => {
        try { writeFileSync(place + "/probe", ""); return true; } catch { return false; }
      });
      const caps = readFileSync("/proc/self/status", "utf8").match(/^(CapEff|CapBnd|NoNewPrivs):.*$/gm);
      console.log(JSON.stringify({ writable, uid: process.getuid(), caps }));`;
      const { stdout, stderr } = runInside(inside, script);
      expect(stderr).toBe("");
      expect(JSON.parse(stdout)).toEqual({
        writable: [data.path, "/tmp"],
        uid: 1_000,
        caps: ["CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"],
      });
    },
  );

  /** The line of `hunkwise doctor` about the sandbox, and its remedy, in one line. */
  function sandboxIn({ command, options }: ReturnType<typeof containerWith>): string {
    const [program, ...args] = [...command, process.execPath, programEntry, "doctor"];
    const { PATH = "" } = process.env;
    const env = { PATH, HUNKWISE_DATA_DIR: data.path };
    const { stdout } = spawnSync(program, args, { ...options, env, encoding: "utf8" });
    return stdout.slice(stdout.search(/^\w+ +sandbox /m)).replaceAll(/\s+/g, " ");
  }

  it.skipIf(reason !== null)(
    "A server in a container runs the commands of a fix in a sandbox, where the host allows it",
    () => {
      expect(sandboxIn(inside)).toMatch(/^ok sandbox commands run in bubblewrap with 2048 MB/);
    },
  );

  it.skipIf(reason !== null)("Without namespaces, doctor names the option that the container lacks", () => {
    const container = ["--tmpfs", "/run", "--ro-bind", "/dev/null", "/run/.containerenv", "--disable-userns"];
    const line = sandboxIn(containerWith(data.path, container));
    expect(line).toMatch(/^warn sandbox none: fixes run no commands, because /);
    expect(line).toContain(
      "A container needs `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`",
    );
  });

  it.skipIf(reason !== null)("A server in a container makes a whole review", async () => {
    const turns = [
      [finding],
      [{ name: "finish_review", arguments: { summary: "It takes the first of a list." } }],
    ];
    const { script } = withAgreeingSceptic(turns.map((tool_calls) => ({ tool_calls })));
    await using scenario = await createScenario({
      base: { "src/list.js": "export const first = (list) => list[0];\n" },
      head: { "src/list.js": "export const first = (list) => list[1];\n" },
    });
    const model = await startFakeOpenAi({ script, apiKey: "sk-container" });
    const { github, pull, repository, webhookSecret: secret } = scenario;
    const server = await startServerProcess(
      {
        ...{ ...scenario.env, HUNKWISE_DATA_DIR: data.path },
        ...{ OPENAI_API_KEY: "sk-container", OPENAI_BASE_URL: model.url, HUNKWISE_MODEL: "fake-model" },
        ...{ HUNKWISE_PROTOCOL: "native", ...shortTimes() },
      },
      inside,
    );
    const payload = await pullRequestPayload(github.state, "opened", pull);
    await deliver(github.state, "pull_request", payload, { url: server.webhookUrl, secret });
    await github.until(() => repository.checkRuns.some(({ status }) => status === "completed"), 300_000);
    await server.stop();
    await model.close();
    expect(pull.reviewComments.map(({ path, anchor }) => [path, anchor?.line])).toEqual([["src/list.js", 1]]);
    expect(repository.checkRuns.map(({ conclusion }) => conclusion)).toEqual(["neutral"]);
    expect(server.log()).not.toMatch(/EROFS|EACCES|EPERM|"level":"(warn|error)"/);
  });
});
