import { createHmac, generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Env, readEnv } from "../../../src/config/env.ts";
import type { RawEnv } from "../../../src/config/variables.ts";
import { createLogger, type Logger } from "../../../src/core/logger.ts";
import { landing } from "../../../src/pages/setup.ts";
import { openSqliteStores } from "../../../src/server/queue/stores.ts";
import { type ServerOptions, startServer } from "../../../src/server/webhooks/server.ts";

export const webhookSecret = "a-secret-for-tests-alone";
export const privateKey = generateKeyPairSync("rsa", { modulusLength: 2048 })
  .privateKey.export({ type: "pkcs8", format: "pem" })
  .toString();

export const sign = (body: string | Buffer, secret = webhookSecret) =>
  `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;

export const newFolder = () => mkdtempSync(join(tmpdir(), "hunkwise-server-"));

/** The lines of a log as objects. */
export function logBook(): { log: Logger; lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = [];
  return { lines, log: createLogger("debug", { write: (line) => void lines.push(JSON.parse(line)) }) };
}

export interface Recorded {
  method: string;
  url: string;
  headers: IncomingMessage["headers"];
  body: string;
}

/** An HTTP server that answers with what `answer` says and remembers what it was asked. */
export async function smallServer(answer: (asked: Recorded) => { status: number; body: unknown }) {
  const asked: Recorded[] = [];
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const chunks = await request.toArray();
    const { method = "", url = "", headers } = request;
    const one = { method, url, headers, body: Buffer.concat(chunks).toString() };
    asked.push(one);
    const { status, body } = answer(one);
    const text = typeof body === "string" ? body : JSON.stringify(body);
    response.writeHead(status, { "content-type": "application/json" }).end(text);
  });
  return { asked, ...(await listening(server)) };
}

/** An HTTP server that takes requests and never answers. */
export const silentServer = () => listening(createServer(() => {}));

async function listening(server: Server) {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  };
  return { host: `127.0.0.1:${port}`, close };
}

/** The environment of an App whose GitHub is at `githubHost`, on any free port. */
export function testEnv(githubHost: string, dataDir: string, more: RawEnv = {}): Env {
  return readEnv({
    APP_ID: "7",
    PRIVATE_KEY: privateKey,
    WEBHOOK_SECRET: webhookSecret,
    GHE_HOST: githubHost,
    GHE_PROTOCOL: "http",
    HUNKWISE_DATA_DIR: dataDir,
    HOST: "127.0.0.1",
    PORT: "0",
    ...more,
  });
}

/** The real server with a real queue, and a GitHub that knows who the App is. */
export async function startTestServer(options: Partial<ServerOptions> = {}) {
  const folder = newFolder();
  const github = await smallServer(() => ({
    status: 200,
    body: { slug: "hunkwise-test", name: "Hunkwise" },
  }));
  const queue = openSqliteStores(folder).queue;
  const { log, lines } = logBook();
  const env = testEnv(github.host, folder);
  const server = await startServer({ env, queue, log, pages: landing(env.github.webUrl), ...options });
  const address = `http://127.0.0.1:${server.port}`;
  return {
    address,
    endpoint: `${address}/api/github/webhooks`,
    port: server.port,
    queue,
    lines,
    async close() {
      await server.close();
      await queue.close();
      await github.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Headers of a delivery with a right signature; `changes` overrides, `undefined` removes. */
export function deliveryHeaders(
  body: string | Buffer,
  event: string,
  delivery: string,
  changes: Record<string, string | undefined> = {},
): Record<string, string> {
  const all: Record<string, string | undefined> = {
    "content-type": "application/json",
    "x-github-event": event,
    "x-github-delivery": delivery,
    "x-hub-signature-256": sign(body),
    ...changes,
  };
  return Object.fromEntries(
    Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
}
