import { deliveryHeaders, privateKey, smallServer, webhookSecret } from "../server/webhooks/support.ts";
import { TempFolder } from "../support/git-repo.ts";
import { type ServerProcess, startServerProcess } from "../support/server-process.ts";
import { shortTimes } from "../support/short-times.ts";

export const webhooks = "/api/github/webhooks";
export const health = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";

export interface AttackedServer {
  server: ServerProcess;
  port: number;
  /** Sends SIGTERM; resolves to the exit code. */
  stop(): Promise<number | null>;
}

/** A real server process that listens on all addresses, with a GitHub that knows the App's name. */
export async function startAttackedServer(): Promise<AttackedServer> {
  const github = await smallServer(() => ({ status: 200, body: { slug: "hunk-bot", name: "Hunkwise" } }));
  const folder = new TempFolder("web-server");
  const server = await startServerProcess({
    ...{ APP_ID: "7", PRIVATE_KEY: privateKey, WEBHOOK_SECRET: webhookSecret },
    ...{ GHE_HOST: github.host, GHE_PROTOCOL: "http", HUNKWISE_DATA_DIR: folder.path },
    ...{ HOST: "0.0.0.0", HUNKWISE_METRICS_PORT: "0", ...shortTimes() },
  });
  return {
    server,
    port: Number(URL.parse(server.url)?.port),
    async stop() {
      const code = await server.stop();
      await github.close();
      folder.dispose();
      return code;
    },
  };
}

let deliveries = 0;
/** Headers of a ping with a valid signature. */
export const headersOf = (body: string | Buffer) => deliveryHeaders(body, "ping", `web-${++deliveries}`);

/** The request line and headers of a request. */
export const headOf = (path: string, headers: Record<string, string | number>, method = "POST") =>
  [
    `${method} ${path} HTTP/1.1`,
    ...Object.entries({ host: "x", ...headers }).map((pair) => pair.join(": ")),
    "",
    "",
  ].join("\r\n");

/** A valid delivery, which is answered with 200. */
export function delivery(): string {
  const body = '{"zen":"Design for failure."}';
  return headOf(webhooks, { ...headersOf(body), "content-length": body.length }) + body;
}
