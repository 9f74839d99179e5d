import { spawn } from "node:child_process";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Readable } from "node:stream";
import { testGitEnvironment } from "./git-repo.ts";

export interface GitHttpOptions {
  /** The folder that holds `/owner/name.git`. */
  root: string;
  /** The exact Authorization header that a request must send; null accepts everyone. */
  authorization?: string | null;
  /** Whether to serve partial clones, as GitHub does. Default true. */
  allowFilter?: boolean;
  /** Whether clients may fetch objects that are not the tip of a ref by name, as on GitHub. Only protocol 0 can refuse. Default true. */
  allowAnySha?: boolean;
  /** The newest protocol supported. Default 2. */
  protocol?: 0 | 2;
}

export interface GitHttpRequest {
  method: string;
  path: string;
  authorization: string | undefined;
}

/** CGI variables that `git http-backend` reads. */
function cgiEnvironment(request: IncomingMessage, url: URL, options: GitHttpOptions): Record<string, string> {
  const filter = String(options.allowFilter ?? true);
  const header = (name: string) => [request.headers[name] ?? ""].flat().join(", ");
  return {
    ...testGitEnvironment,
    GIT_PROJECT_ROOT: options.root,
    GIT_HTTP_EXPORT_ALL: "1",
    GIT_CONFIG_COUNT: "2",
    GIT_CONFIG_KEY_0: "uploadpack.allowFilter",
    GIT_CONFIG_VALUE_0: filter,
    GIT_CONFIG_KEY_1: "uploadpack.allowAnySHA1InWant",
    GIT_CONFIG_VALUE_1: String(options.allowAnySha ?? true),
    GIT_PROTOCOL: options.protocol === 0 ? "" : header("git-protocol"),
    PATH_INFO: decodeURIComponent(url.pathname),
    QUERY_STRING: url.search.slice(1),
    REQUEST_METHOD: request.method ?? "GET",
    CONTENT_TYPE: header("content-type"),
    HTTP_CONTENT_ENCODING: header("content-encoding"),
    ...(request.headers["content-length"] ? { CONTENT_LENGTH: header("content-length") } : {}),
    REMOTE_ADDR: "127.0.0.1",
  };
}

/** Converts the CGI headers to HTTP and passes the body through. */
function relay(output: Readable, response: ServerResponse): void {
  let head = Buffer.alloc(0);
  const onData = (chunk: Buffer) => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) return;
    output.off("data", onData);
    output.pause();
    const lines = head.subarray(0, end).toString("latin1").split("\r\n");
    const headers = lines.map((line) => [
      line.slice(0, line.indexOf(":")),
      line.slice(line.indexOf(":") + 1).trim(),
    ]);
    const status = headers.find(([name]) => name?.toLowerCase() === "status")?.[1];
    response.statusCode = status ? Number.parseInt(status, 10) : 200;
    for (const [name, value] of headers) {
      if (name && value && name.toLowerCase() !== "status") response.setHeader(name, value);
    }
    response.write(head.subarray(end + 4));
    output.pipe(response);
  };
  output.on("data", onData);
  output.on("end", () => {
    if (!response.headersSent) response.writeHead(500).end("git http-backend gave no answer");
  });
}

/** Answers one request of a git client; use it for paths like `/owner/name.git/...`. */
export function serveGit(request: IncomingMessage, response: ServerResponse, options: GitHttpOptions): void {
  const url = new URL(request.url ?? "/", "http://localhost");
  if (options.authorization && request.headers.authorization !== options.authorization) {
    request.resume();
    response.writeHead(401, { "www-authenticate": 'Basic realm="GitHub"' }).end("Unauthorized");
    return;
  }
  const backend = spawn("git", ["http-backend"], {
    env: cgiEnvironment(request, url, options),
    stdio: ["pipe", "pipe", "ignore"],
  });
  // A client that hangs up early must not take the test process down.
  backend.stdin.on("error", () => {});
  backend.on("error", () => response.destroy());
  response.on("close", () => backend.kill());
  request.pipe(backend.stdin);
  relay(backend.stdout, response);
}

/** A smart-HTTP git server on 127.0.0.1. Its options may be changed while it runs. */
export class GitHttpServer implements AsyncDisposable {
  readonly options: GitHttpOptions;
  readonly requests: GitHttpRequest[] = [];
  /** Replaces the answer; return false to answer normally. For tests of faults and time-outs. */
  interfere: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  readonly #server: Server;

  private constructor(options: GitHttpOptions) {
    this.options = options;
    this.#server = createServer((request, response) => {
      const { method = "", url: path = "", headers } = request;
      this.requests.push({ method, path, authorization: headers.authorization });
      if (this.interfere?.(request, response)) return;
      serveGit(request, response, this.options);
    });
  }

  static async start(options: GitHttpOptions): Promise<GitHttpServer> {
    const server = new GitHttpServer(options);
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** `http://127.0.0.1:PORT`, without a slash at the end. */
  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
