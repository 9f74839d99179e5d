import { once } from "node:events";
import { chmodSync, chownSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import {
  Agent,
  type ClientRequest,
  createServer,
  type IncomingMessage,
  type RequestOptions,
  request,
  type ServerResponse,
} from "node:http";
import { Agent as SecureAgent, request as secureRequest } from "node:https";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Duplex, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { proxyFor } from "../core/proxies.ts";
import { SOCKET } from "./bubblewrap.ts";
import { NOBODY } from "./run-in-sandbox.ts";

/** A proxy for one command of a sandbox. Disposing of it ends its connections and removes its socket. */
interface RegistryProxy extends AsyncDisposable {
  /** The folder with its socket, for the sandbox. */
  readonly folder: string;
  /** What it refused, each once, as the command wrote it: untrusted text. */
  readonly refused: ReadonlySet<string>;
}

interface ProxyOptions {
  /** The only hosts that it reaches: `name` or `name:port`, in lower case. Without a port, 443 for TLS and 80 without. */
  registries: readonly string[];
  /** Of all connections together, both ways; more ends them. */
  maxBytes?: number;
  /** Of a connection on which nothing is sent. */
  idleMs?: number;
}

const MAX_BYTES = 2 * 1024 ** 3;
const IDLE_MS = 60_000;
const MAX_CONNECTIONS = 64;
const MAX_REFUSED = 20;
const MAX_REFUSED_LENGTH = 120;

/**
 * Starts an HTTP proxy on a Unix socket in a private folder. It serves `CONNECT`, `GET` and `HEAD` to exactly the named hosts and ports, adds
 * no credentials and passes on none without TLS. The other side is hostile. Its own connections use the proxies of this process.
 */
export async function startRegistryProxy({
  registries,
  maxBytes = MAX_BYTES,
  idleMs = IDLE_MS,
}: ProxyOptions): Promise<RegistryProxy> {
  const folder = await mkdtemp(join(tmpdir(), "hunkwise-registry-"));
  const refused = new Set<string>();
  const sockets = new Set<Duplex>();
  let bytes = 0;

  const track = (socket: Duplex) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.once("close", () => sockets.delete(socket));
  };
  const counter = () =>
    new Transform({
      transform(piece: Buffer, _, done) {
        bytes += piece.length;
        if (bytes > maxBytes) done(new Error("too many bytes"));
        else done(null, piece);
      },
    });
  const note = (what: string) => {
    if (refused.size < MAX_REFUSED) refused.add(what.slice(0, MAX_REFUSED_LENGTH));
  };

  const server = createServer({ maxHeaderSize: 16_384, requestTimeout: idleMs }, (incoming, answer) => {
    const target = plainTarget(incoming, registries);
    if (target === null) {
      note(incoming.url ?? "");
      refuse(answer, 403);
    } else if (incoming.method !== "GET" && incoming.method !== "HEAD") refuse(answer, 405);
    else forward(target, incoming, answer, { idleMs, counter, track });
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.on("connection", track);
  server.on("connect", async ({ url = "" }: IncomingMessage, near: Duplex, head: Buffer) => {
    const target = tunnelTarget(url, registries);
    if (target === null) {
      note(url);
      near.end("HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n");
      return;
    }
    try {
      const far = await openTunnel(target, idleMs);
      track(far);
      near.write("HTTP/1.1 200 OK\r\n\r\n");
      near.unshift(head);
      await Promise.all([pipeline(near, counter(), far), pipeline(far, counter(), near)]);
    } catch {
      near.end("HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n");
      near.destroy();
    }
  });
  // Without a listener, a request for another protocol would keep its socket open.
  server.on("upgrade", (_, socket: Duplex) => socket.destroy());
  server.on("clientError", (_, socket: Duplex) => socket.destroy());
  server.listen(join(folder, SOCKET));
  await once(server, "listening");
  letNobodyIn(folder);
  return {
    folder,
    refused,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      for (const socket of sockets) socket.destroy();
      await closed;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The sandboxes of root run as `nobody`. */
function letNobodyIn(folder: string): void {
  if (process.getuid?.() !== 0) return;
  chownSync(folder, 0, NOBODY);
  chmodSync(folder, 0o750);
  chownSync(join(folder, SOCKET), 0, NOBODY);
  chmodSync(join(folder, SOCKET), 0o660);
}

interface Target {
  hostname: string;
  port: number;
}

const isNamed = ({ hostname, port }: Target, usual: number, registries: readonly string[]) =>
  registries.includes(`${hostname}:${port}`) || (port === usual && registries.includes(hostname));

function tunnelTarget(written: string, registries: readonly string[]): Target | null {
  const [, hostname = "", port] =
    /^([a-z0-9._-]+|\[[0-9a-f:.]+\]):(\d{1,5})$/.exec(written.toLowerCase()) ?? [];
  const target = { hostname, port: Number(port) };
  return isNamed(target, 443, registries) ? target : null;
}

/** The target of a request in absolute form, whatever its `Host` says; null if it may not be reached. */
function plainTarget({ url = "" }: IncomingMessage, registries: readonly string[]): URL | null {
  const target = /^http:\/\//i.test(url) ? URL.parse(url) : null;
  if (target === null) return null;
  const { hostname, port, username, password } = target;
  if (username !== "" || password !== "") return null;
  return isNamed({ hostname, port: Number(port || 80) }, 80, registries) ? target : null;
}

function refuse(answer: ServerResponse, status: number): void {
  answer.writeHead(status, { connection: "close", "content-type": "text/plain" });
  answer.end("Refused: this host is not in HUNKWISE_PROVE_REGISTRIES, or the request is not a download.\n");
}

/** What is passed on without TLS; never credentials. */
const requestHeaders = [
  "accept",
  "accept-encoding",
  "user-agent",
  "range",
  "if-none-match",
  "if-modified-since",
];
const answerHeaders = [
  ...["content-type", "content-length", "content-encoding", "content-range", "accept-ranges", "etag"],
  ...["last-modified", "cache-control", "expires", "date", "vary", "location"],
];

const only = (names: readonly string[], headers: IncomingMessage["headers"]) =>
  Object.fromEntries(names.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])));

interface Flow {
  idleMs: number;
  counter(): Transform;
  track(socket: Duplex): void;
}

/** Asks the registry anew, with headers of our own and without a body. */
function forward(target: URL, incoming: IncomingMessage, answer: ServerResponse, flow: Flow): void {
  const { hostname, port, host, pathname, search } = target;
  const proxy = proxyFor("http", hostname, Number(port || 80));
  const { method } = incoming;
  const headers = { ...only(requestHeaders, incoming.headers), host };
  const outgoing =
    proxy === null
      ? request({ ...placeOf(target), method, path: pathname + search, headers, agent: new Agent() })
      : askProxy(proxy, { method, path: target.href, headers });
  outgoing.setTimeout(flow.idleMs, () => outgoing.destroy());
  outgoing.on("socket", flow.track);
  outgoing.on("error", () => {
    if (answer.headersSent) answer.destroy();
    else refuse(answer, 502);
  });
  outgoing.on("response", (response) => {
    answer.writeHead(response.statusCode ?? 502, only(answerHeaders, response.headers));
    pipeline(response, flow.counter(), answer).catch(() => answer.destroy());
  });
  answer.on("close", () => outgoing.destroy());
  outgoing.end();
}

/** Connects, through the proxy of this process if it has one. */
async function openTunnel({ hostname, port }: Target, idleMs: number): Promise<Socket> {
  const proxy = proxyFor("https", hostname, port);
  const socket = proxy
    ? await throughProxy(proxy, `${hostname}:${port}`, idleMs)
    : await direct(hostname, port, idleMs);
  return socket.setTimeout(idleMs, () => socket.destroy());
}

async function direct(hostname: string, port: number, idleMs: number): Promise<Socket> {
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ""), port });
  socket.setTimeout(idleMs, () => socket.destroy(new Error("no answer")));
  await once(socket, "connect");
  return socket;
}

async function throughProxy(proxy: URL, path: string, idleMs: number): Promise<Socket> {
  const asked = askProxy(proxy, { method: "CONNECT", path, headers: { host: path } });
  asked.setTimeout(idleMs, () => asked.destroy(new Error("no answer")));
  asked.end();
  const [{ statusCode }, socket, head] = (await once(asked, "connect")) as [IncomingMessage, Socket, Buffer];
  if (statusCode !== 200) {
    socket.destroy();
    throw new Error(`the proxy answered ${statusCode}`);
  }
  socket.unshift(head);
  return socket;
}

const placeOf = ({ hostname, port }: URL) => ({ hostname: hostname.replace(/^\[|\]$/g, ""), port });

/** A request to the proxy of this process. Its agent is a new one: the global one would use the proxy once more. */
function askProxy(proxy: URL, { headers, ...asked }: RequestOptions): ClientRequest {
  const credentials = [proxy.username, proxy.password].map(decodeURIComponent).join(":");
  const authorization = `Basic ${Buffer.from(credentials).toString("base64")}`;
  const options = {
    ...placeOf(proxy),
    ...asked,
    headers: { ...headers, ...(proxy.username && { "proxy-authorization": authorization }) },
  };
  return proxy.protocol === "https:"
    ? secureRequest({ ...options, agent: new SecureAgent() })
    : request({ ...options, agent: new Agent() });
}
