import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
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

/** The instructions of a Dockerfile, without comments and with continued lines joined. */
function instructionsOf(text: string): string[] {
  const lines = text
    .replace(/^ *#.*\n/gm, "")
    .replace(/\\\n/g, " ")
    .split("\n");
  return lines.map((line) => line.trim()).filter((line) => line !== "");
}

describe("the image", () => {
  const all = instructionsOf(read("Dockerfile"));
  const last = all.slice(all.findLastIndex((one) => one.startsWith("FROM ")));

  it("runs as a user that is not root, and does nothing after it has become one", () => {
    const users = last.filter((one) => one.startsWith("USER "));
    expect(users).toEqual(["USER node"]);
    const after = last.slice(last.indexOf("USER node") + 1).map((one) => one.split(" ")[0]);
    expect(after).toEqual(["ENV", "VOLUME", "EXPOSE", "HEALTHCHECK", "CMD"]);
  });

  it("has no program that changes the user who runs it", () => {
    expect(last.join("\n")).toContain("find / -xdev -type f -perm /6000 -exec chmod a-s {} +");
  });

  it("gives code that runs to root, and data only to its user", () => {
    expect(last.filter((one) => /^(COPY|ADD)\b/.test(one) && /--(chown|chmod)/.test(one))).toEqual([]);
    expect(last.join("\n")).toContain("mkdir -m 700 /data && chown node:node /data");
    // The user loses ownership of the compile cache again.
    expect(last.join("\n")).toMatch(
      /chown node "\$cache".*chown -R root:root "\$cache" && chmod -R a\+rX,go-w "\$cache"/,
    );
  });

  it("holds what npm would install: the package, and its dependencies in the versions of the lock file", () => {
    const text = all.join("\n");
    expect(text).toMatch(/^FROM scratch AS package$/m);
    expect(text).toMatch(
      /--mount=type=bind,from=package.*tar --extract .*&& npm ci --omit=dev --ignore-scripts/,
    );
    expect(last.filter((one) => one.startsWith("COPY "))).toEqual(["COPY --from=install /app /app"]);
    const [apt = ""] = last.filter((one) => one.includes("apt-get install"));
    for (const name of ["git", "bubblewrap", "ca-certificates"]) expect(apt).toMatch(new RegExp(` ${name} `));
  });

  it("is built with everything that the package contains", () => {
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
  });

  it("takes only packages from the network, and holds no secret", () => {
    expect(all.filter((one) => one.startsWith("ADD ") || /curl|wget|git clone/.test(one))).toEqual([]);
    const told = all.filter((one) => /^(ENV|ARG|LABEL)\b/.test(one)).join("\n");
    expect(told).not.toMatch(/KEY|SECRET|TOKEN|PASSWORD|DATABASE_URL|APP_ID/);
    expect(read(".dockerignore").split("\n")[0]).toBe("*");
    const taken = read(".dockerignore").match(/^!.*$/gm) ?? [];
    expect(taken.filter((one) => /\.env|\.git|hunkwise|test|fixtures/.test(one))).toEqual([]);
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

  it("is one of two", () => expect(ours.map(([name]) => name)).toEqual(["hunkwise", "worker"]));

  it.each(ours)("cannot change itself or become more than it is: %s", (_, service) => {
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

  it.each(ours)(
    "writes only to its data and a /tmp of limited size, from which nothing can run: %s",
    (_, service) => {
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
    },
  );

  it.each(ours)("has limited memory and processes: %s", (_, service) => {
    expect(service.mem_limit).toMatch(/^[1-9]g$/);
    expect(service.pids_limit).toBeLessThanOrEqual(1_024);
  });

  it("is beside a database that cannot gain privileges either", () => {
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
    `is refused every other place${reason === null ? "" : ` (skipped: ${reason})`}`,
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

  it.skipIf(reason !== null)("can run the commands of a fix in a sandbox, where the host allows it", () => {
    expect(sandboxIn(inside)).toMatch(/^ok sandbox commands run in bubblewrap with 2048 MB/);
  });

  it.skipIf(reason !== null)(
    "says which option of the container is missing, if it may not create namespaces",
    () => {
      const container = [
        "--tmpfs",
        "/run",
        "--ro-bind",
        "/dev/null",
        "/run/.containerenv",
        "--disable-userns",
      ];
      const said = sandboxIn(containerWith(data.path, container));
      expect(said).toMatch(/^warn sandbox none: fixes run no commands, because /);
      expect(said).toContain(
        "This container may not create namespaces: start it with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`",
      );
    },
  );

  it.skipIf(reason !== null)("makes a whole review all the same", async () => {
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
