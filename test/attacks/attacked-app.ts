import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { until } from "../e2e/conformance-fixture.ts";
import { type SharedApp, startSharedApp } from "../e2e/shared-app.ts";
import { modelKey } from "../support/app-under-test.ts";
import type { ChatRequestBody, FakeTurn } from "../support/fake-openai.ts";
import { below } from "../support/processes.ts";
import { type Canary, makeCanary } from "./canaries.ts";
import type { Places } from "./corpus/places.ts";
import type { Planted } from "./planted.ts";

/** A server on a machine with canaries. It is reviewing another user's pull request (the neighbor) and fetching for a third one. */
export interface AttackedApp extends AsyncDisposable {
  shared: SharedApp;
  /** The canaries in its data folder, and the values that it was configured with. */
  canaries: Canary[];
  places: Places;
  /** Sets the model's answers, except about the neighbor. */
  obey(script: (body: ChatRequestBody) => FakeTurn): void;
  /** Lets the neighbor's review finish. */
  endNeighbor(): Promise<void>;
}

const NEIGHBOR = "A change next door";
const finish = { name: "finish_review", arguments: { summary: "Nothing here." } };

export async function startAttackedApp(planted: Planted): Promise<AttackedApp> {
  const held = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  let script: (body: ChatRequestBody) => FakeTurn = () => ({ tool_calls: [finish] });
  const shared = await startSharedApp({
    async everyRole(body) {
      if (!isOfNeighbor(body)) return script(body);
      begun.resolve();
      await held.promise;
      return { tool_calls: [finish] };
    },
    // A window for more than a thousand calls: the model's own messages are never removed from it.
    env: { ...planted.env, LOG_LEVEL: "trace", HUNKWISE_CONTEXT_TOKENS: "400000" },
  });
  const { app } = shared;
  const canaries = plantData(app.dataFolder);
  canaries.push({ name: "the webhook secret", value: app.webhookSecret });
  canaries.push({ name: "the model's key", value: modelKey });

  const fetch = await startFetch(shared);
  const neighbor = makeCanary("the neighbor's files");
  canaries.push(neighbor);
  const files = { "src/a.js": "a();\n", "neighbor/accounts.txt": `${neighbor.value}\n` };
  const next = shared.addRepository(files).open({ "src/a.js": "b();\n" }, { title: NEIGHBOR });
  await next.deliver("opened");
  await begun.promise;

  return {
    ...{ shared, canaries },
    places: {
      ...planted.places,
      ...placesOf(app.dataFolder),
      server: app.server.process.pid ?? 0,
      fetching: fetch.pid,
    },
    obey(obedient) {
      script = obedient;
    },
    async endNeighbor() {
      held.resolve();
      fetch.goOn();
      await next.concluded();
    },
    async [Symbol.asyncDispose]() {
      held.resolve();
      fetch.goOn();
      await shared[Symbol.asyncDispose]();
    },
  };
}

/** A review whose fetch waits for GitHub. Its processes are visible only on Linux. */
async function startFetch({ app, addRepository }: SharedApp): Promise<{ pid: number; goOn(): void }> {
  const gate = Promise.withResolvers<void>();
  const pull = addRepository({ "a.txt": "1\n" }).open({ "a.txt": "2\n" }, { title: NEIGHBOR });
  pull.of.breakGit({ delay: gate.promise });
  await pull.deliver("opened");
  await until(() => app.github.faults.struck.some((one) => one.includes(".git/")));
  const pids = below(app.server.process.pid).map((one) => Number.parseInt(one, 10));
  const isFetching = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("\0fetch\0");
  return { pid: pids.find(isFetching) ?? 0, goOn: gate.resolve };
}

const isOfNeighbor = ({ messages }: ChatRequestBody) =>
  messages.some(({ content }) => content?.includes(NEIGHBOR));

/** Plants canaries in the server's database and beside it. */
function plantData(dataFolder: string): Canary[] {
  const [row, file] = [makeCanary("the database"), makeCanary("the data folder")];
  using database = new DatabaseSync(join(dataFolder, "queue.db"), { timeout: 10_000 });
  database.exec("CREATE TABLE planted (value TEXT)");
  database.prepare("INSERT INTO planted VALUES (?)").run(row.value);
  writeFileSync(join(dataFolder, "app.json"), JSON.stringify({ key: file.value }));
  return [row, file];
}

function placesOf(dataFolder: string): Pick<Places, "dataFolder" | "neighbor"> {
  const names = readdirSync(dataFolder, { recursive: true, encoding: "utf8" });
  const find = (end: string) => {
    const found = names.find((name) => name.endsWith(end));
    if (found === undefined) throw new Error(`nothing in the data folder ends with ${end}`);
    return join(dataFolder, found);
  };
  const checkout = dirname(dirname(find("neighbor/accounts.txt")));
  return { dataFolder, neighbor: { checkout, mirror: dirname(find(".git/config")) } };
}
