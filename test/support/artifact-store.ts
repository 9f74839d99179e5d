import { createServer, type IncomingHttpHeaders } from "node:http";
import { listenHere } from "./local-server.ts";

/** The store that GitHub redirects downloads of artifacts to: a server of its own, on another origin. */
export interface ArtifactStore extends AsyncDisposable {
  /** Keeps a file, and returns its signed address. */
  keep(file: Buffer): string;
  readonly port: number;
  readonly requests: { path: string; headers: IncomingHttpHeaders }[];
}

export async function startArtifactStore(): Promise<ArtifactStore> {
  const files: Buffer[] = [];
  const requests: ArtifactStore["requests"] = [];
  const server = createServer(({ url = "/", headers }, response) => {
    requests.push({ path: url, headers });
    const file = files[Number(/^\/(\d+)\?sig=/.exec(url)?.[1] ?? -1)];
    response.writeHead(file ? 200 : 403, { "content-type": "application/zip" }).end(file);
  });
  const { port, origin, close } = await listenHere(server);
  return {
    ...{ port, requests },
    keep: (file) => `${origin}/${files.push(file) - 1}?sig=canary-of-the-address`,
    [Symbol.asyncDispose]: close,
  };
}
