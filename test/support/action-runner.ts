import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { data, Evaluator, Lexer, Parser } from "@actions/expressions";
import { parse } from "yaml";
import { programEntry } from "./built-program.ts";
import { TempFolder } from "./git-repo.ts";
import type { App, Permissions } from "./github-double/model.ts";
import { fullName } from "./github-double/model.ts";
import type { Payload } from "./github-double/payloads.ts";
import { appKeys, type Scenario } from "./github-double/scenario.ts";

/*
 * Plays GitHub's runner for a released commit, whose one step is a program of the runner's Node, and for the last step of action.yml in a
 * commit that is not built: the step's environment and script are the file's own. It ends at the steps before (test/action.slow.test.ts
 * runs these), at masks in the log, and at the runner's own process: a step here has no other step beside it.
 */

interface Step {
  id?: string;
  uses?: string;
  with?: Record<string, unknown>;
  env?: Record<string, string>;
  run?: string;
}

/** `action.yml` as GitHub reads it. */
export const actionFile = parse(readFileSync(join(import.meta.dirname, "../../action.yml"), "utf8")) as {
  inputs: Record<string, { description: string; default?: string }>;
  outputs: Record<string, { description: string; value: string }>;
  runs: { using: string; steps: Step[] };
};

export interface WorkflowRun {
  /** The event's name. */
  event: string;
  payload: Payload;
  /** `with:` of the step that uses the Action. */
  inputs?: Record<string, string>;
  /** `permissions:` of the job. A fork's `pull_request` gets at most read access, as on GitHub. */
  permissions?: Permissions;
  /** `env:` of the job. */
  env?: Record<string, string>;
  /** A token that another step made; default: the job's. */
  token?: string;
  /** The folder that holds `dist/cli.js` and, if it is that of a released commit, `action.js`. Default: one built from the sources. */
  actionPath?: string;
  /** Play the last step of action.yml. */
  unbuilt?: boolean;
  /** A program and its arguments that start the step, such as one that records its system calls. */
  under?: readonly string[];
  /** Files of the workspace, as actions/checkout or another step left them. */
  workspace?: Record<string, string | { link: string }>;
  /** Called when the process has started. */
  onStart?: (step: RunningStep) => void;
}

export interface RunningStep {
  kill(signal: NodeJS.Signals): void;
  /** Names and texts of all files that the step can leave to others, now. */
  files(): Record<string, string>;
}

export interface FinishedRun {
  code: number | null;
  /** Both streams, as the runner's log shows them. */
  log: string;
  outputs: Record<string, string>;
  summary: string;
  /** Names and texts of all files that the step left in the runner's temporary folder, and in the workspace. */
  files: Record<string, string>;
}

/** The permissions that docs/action.md recommends. */
export const recommended: Permissions = { contents: "read", pull_requests: "write", checks: "write" };

/** GitHub Actions on a scenario's repository. */
export class Actions {
  readonly #scenario: Scenario;
  /** The App whose bot all workflows are. */
  readonly app: App;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
    const { state } = scenario.github;
    const { publicKey } = appKeys();
    this.app = state.addApp({
      id: 15_368,
      slug: "github-actions",
      owner: "github",
      publicKey,
      permissions: {},
    });
  }

  /** A token as each job gets one, which ends with the job. */
  jobToken(permissions: Permissions): string {
    const { github, repository } = this.#scenario;
    const installation = github.state.install(this.app, [repository], permissions);
    return github.state.issueToken(installation).value;
  }

  async run(wanted: WorkflowRun): Promise<FinishedRun> {
    const { event, payload, inputs = {}, permissions = recommended, env = {} } = wanted;
    using folder = new TempFolder("runner");
    const at = (name: string) => join(folder.path, name);
    for (const name of ["temp", "home", "work"]) mkdirSync(at(name));
    for (const [name, text] of Object.entries(wanted.workspace ?? {})) {
      mkdirSync(dirname(join(at("work"), name)), { recursive: true });
      const path = join(at("work"), name);
      if (typeof text !== "string") symlinkSync(text.link, path);
      else writeFileSync(path, text);
    }
    // An event of Actions names no installation.
    const { installation: _, ...seen } = payload;
    writeFileSync(at("event.json"), JSON.stringify(seen));
    for (const name of ["output", "summary"]) writeFileSync(at(name), "");
    const job = this.jobToken(
      event === "pull_request" && isFork(payload) ? readOnly(permissions) : permissions,
    );
    const { github, repository } = this.#scenario;
    const given = { ...defaultsOf(job), ...inputs, ...(wanted.token && { "github-token": wanted.token }) };
    const actionPath = wanted.actionPath ?? releasedPath;
    const step = wanted.unbuilt ? lastStep(given, env) : released(actionPath, given);
    const files = () => ({ ...filesIn(at("temp")), ...filesIn(at("work")), ...filesIn(at("home")) });
    const finished = await start([...(wanted.under ?? []), ...step.command], {
      cwd: at("work"),
      onStart: (kill) => wanted.onStart?.({ kill, files }),
      env: {
        ...env,
        PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
        HOME: at("home"),
        CI: "true",
        GITHUB_ACTIONS: "true",
        ...(wanted.unbuilt && { GITHUB_ACTION_PATH: actionPath }),
        GITHUB_EVENT_NAME: event,
        GITHUB_EVENT_PATH: at("event.json"),
        GITHUB_REPOSITORY: fullName(repository),
        GITHUB_REPOSITORY_ID: String(repository.id),
        GITHUB_API_URL: github.apiUrl,
        GITHUB_SERVER_URL: github.url,
        GITHUB_OUTPUT: at("output"),
        GITHUB_STEP_SUMMARY: at("summary"),
        GITHUB_WORKSPACE: at("work"),
        RUNNER_TEMP: at("temp"),
        ...step.env,
      },
    });
    return {
      ...finished,
      outputs: outputsIn(readFileSync(at("output"), "utf8")),
      summary: readFileSync(at("summary"), "utf8"),
      files: files(),
    };
  }
}

const readOnly = (permissions: Permissions): Permissions =>
  Object.fromEntries(Object.keys(permissions).map((name) => [name, "read"]));

function isFork(payload: Payload): boolean {
  const { head, base } = (payload.pull_request ?? {}) as Record<string, { repo?: { id: number } | null }>;
  return head?.repo?.id !== base?.repo?.id;
}

// biome-ignore lint/suspicious/noTemplateCurlyInString: an expression of a workflow.
const jobsToken = "${{ github.token }}";

const defaultsOf = (token: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(actionFile.inputs).map(([name, { default: text = "" }]) => [
      name,
      text === jobsToken ? token : text,
    ]),
  );

/** An expression `${{ ... }}`, or one without the braces, by GitHub's own library. */
export function evaluate(text: string, contexts: Record<string, object>): data.ExpressionData {
  const source = text.replace(/^\$\{\{([\s\S]*)\}\}$/, "$1");
  const tree = new Parser(new Lexer(source).lex().tokens, Object.keys(contexts), []).parse();
  const values = JSON.parse(JSON.stringify(contexts), data.reviver) as data.Dictionary;
  return new Evaluator(tree, values).evaluate();
}

const releasedPath = process.env.HUNKWISE_ACTION_TREE ?? join(dirname(programEntry), "..");

/** How the runner starts a released commit: inputs arrive under their names in capitals. */
const released = (actionPath: string, inputs: Record<string, string>) => ({
  command: [process.execPath, join(actionPath, "action.js")],
  env: Object.fromEntries(
    Object.entries(inputs).map(([name, value]) => [`INPUT_${name.toUpperCase()}`, value]),
  ),
});

/** How the runner starts the last step of action.yml, a script with `shell: bash`. */
function lastStep(inputs: Record<string, string>, env: Record<string, string>) {
  const step = actionFile.runs.steps.at(-1);
  const values = Object.entries(step?.env ?? {}).map(([name, text]): [string, string] => [
    name,
    evaluate(text, { inputs, env }).coerceString(),
  ]);
  return {
    command: ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step?.run ?? ""],
    env: Object.fromEntries(values),
  };
}

async function start(
  [program = "", ...args]: readonly string[],
  {
    cwd,
    env,
    onStart,
  }: { cwd: string; env: Record<string, string | undefined>; onStart: (kill: RunningStep["kill"]) => void },
): Promise<{ code: number | null; log: string }> {
  const child = spawn(program, args, { cwd, env });
  let log = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text) => (log += text));
  onStart((signal) => void child.kill(signal));
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.once("error", reject).once("close", resolve);
  return { code: await promise, log };
}

/** Reads the file of outputs as the runner does: `NAME<<END`, lines, `END`. */
function outputsIn(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { groups } of text.matchAll(/^(?<name>[\w-]+)<<(?<end>\S+)\n(?<value>[\s\S]*?)\n\k<end>$/gm))
    found[groups?.name ?? ""] = groups?.value ?? "";
  return found;
}

function filesIn(folder: string): Record<string, string> {
  if (!existsSync(folder)) return {};
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  return Object.fromEntries(
    names.map((one) => {
      const path = join(one.parentPath, one.name);
      return [path.slice(folder.length + 1), readFileSync(path, "latin1")];
    }),
  );
}

/** What the log would do as workflow commands: those outside of `stop-commands`. */
export function commandsIn(log: string): string[] {
  const found: string[] = [];
  let muted: string | null = null;
  for (const line of log.split("\n").map((one) => one.trimStart())) {
    if (muted !== null) {
      if (line === `::${muted}::`) muted = null;
    } else if (line.startsWith("::stop-commands::")) muted = line.slice("::stop-commands::".length);
    else if (line.startsWith("::") || line.includes("##[")) found.push(line);
  }
  return found;
}
