import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { readEnv } from "../../src/config/env.ts";
import { environmentDocs } from "../../src/config/variables.ts";
import { graceMs } from "../../src/server/queue/worker.ts";

const root = resolve(import.meta.dirname, "../..");
const read = (name: string) => readFileSync(join(root, name), "utf8");

interface Mount {
  type: string;
  source: string;
  target: string;
  read_only?: boolean;
}

interface Service {
  image?: string;
  profiles?: string[];
  command?: string[];
  environment?: Record<string, string | number>;
  env_file?: { path: string; required: boolean }[];
  volumes?: (string | Mount)[];
  ports?: string[];
  init?: boolean;
  stop_grace_period?: string;
  healthcheck?: { test: string[] };
  depends_on?: Record<string, { condition: string; required: boolean }>;
  deploy?: { replicas: number };
}
const text = read("compose.yml");
interface Compose {
  services: Record<"hunkwise" | "worker" | "postgres", Service>;
  volumes: Record<string, null>;
}

/** The file as compose reads it where `.env` sets these variables. https://docs.docker.com/reference/compose-file/interpolation/ */
function composeWith(env: Record<string, string>): Compose {
  const filled = text.replaceAll(/\$\{(\w+):-([^}]*)\}/g, (_, name, fallback) => env[name] || fallback);
  return parse(filled, { merge: true });
}
const compose = composeWith({});
const { hunkwise, worker, postgres } = compose.services;
const mountsOf = ({ volumes = [] }: Service) => volumes.filter((one) => typeof one !== "string");
const volumesOf = ({ volumes = [] }: Service) => volumes.filter((one) => typeof one === "string");

describe("compose.yml", () => {
  it("compose.yml starts one service by itself", () => {
    const byDefault = Object.entries(compose.services).filter(([, { profiles }]) => !profiles);
    expect(byDefault.map(([name]) => name)).toEqual(["hunkwise"]);
    expect([worker.profiles, postgres.profiles]).toEqual([["postgres"], ["postgres"]]);
    expect(worker.deploy?.replicas).toBe(2);
    expect(worker.command?.at(-1)).toBe("worker");
  });

  it("compose.yml sets variables alone that Hunkwise knows, to values that it takes", () => {
    const known = new Set(environmentDocs.map(({ name }) => name));
    for (const { environment = {} } of [hunkwise, worker]) {
      expect(Object.keys(environment).filter((name) => !known.has(name))).toEqual([]);
      const values = Object.entries(environment).map(([name, value]) => [name, String(value)]);
      expect(readEnv(Object.fromEntries(values))).toMatchObject({ dataDir: "/data", metricsPort: 9464 });
    }
  });

  it("compose.yml holds no secret: passwords come from .env, and without one Postgres does not start", () => {
    expect(text).toContain(`POSTGRES_PASSWORD: \${POSTGRES_PASSWORD:-}`);
    const settings = text.replace(/^#.*$/gm, "");
    expect(settings).not.toMatch(/postgres(ql)?:\/\/|PRIVATE_KEY(?!_PATH)|WEBHOOK_SECRET|API_KEY/);
  });

  it("compose.yml starts without a .env as well", () => {
    const optional = [{ path: ".env", required: false }];
    expect([hunkwise.env_file, worker.env_file]).toEqual([optional, optional]);
  });

  it("compose.yml publishes the ports on which the container listens", () => {
    const env = {
      PORT: "8080",
      HOST: "127.0.0.1",
      HUNKWISE_METRICS_PORT: "9999",
      HUNKWISE_METRICS_HOST: "127.0.0.1",
    };
    for (const [given, port, metricsPort] of [
      [{}, 3_000, 9_464],
      [env, 8_080, 9_999],
    ] as const) {
      const { environment = {}, ports } = composeWith(given).services.hunkwise;
      const pinned = Object.entries(environment).map(([name, value]) => [name, String(value)]);
      // A service's environment outranks its env_file.
      const read = readEnv({ ...given, ...Object.fromEntries(pinned) });
      expect(read).toMatchObject({ host: "0.0.0.0", port, metricsHost: "0.0.0.0", metricsPort });
      expect(ports).toEqual([`127.0.0.1:${port}:${port}`, `127.0.0.1:${metricsPort}:${metricsPort}`]);
    }
  });

  it("compose.yml mounts the files that .env names, each where the container looks for it", () => {
    const env = {
      PRIVATE_KEY_PATH: "/etc/hunkwise/key.pem",
      HUNKWISE_PRICES: "/etc/hunkwise/prices.json",
      NODE_EXTRA_CA_CERTS: "/etc/ssl/corp.pem",
      HUNKWISE_LOGSEQ_DIR: "/home/me/logseq",
    };
    const { services } = composeWith(env);
    for (const service of [services.hunkwise, services.worker]) {
      const mounts = mountsOf(service);
      expect(mounts.map(({ source }) => source).toSorted()).toEqual(Object.values(env).toSorted());
      expect(mounts.every(({ type, source, target }) => type === "bind" && source === target)).toBe(true);
      expect(mounts.filter(({ read_only }) => !read_only).map(({ source }) => source)).toEqual([
        env.HUNKWISE_LOGSEQ_DIR,
      ]);
    }
    const unset = mountsOf(hunkwise);
    expect(unset.every(({ source }) => source === "/dev/null")).toBe(true);
    expect(new Set(unset.map(({ target }) => target)).size).toBe(unset.length);
  });

  it("compose.yml has everybody wait for a Postgres that answers, where there is one", () => {
    expect(postgres.image).toMatch(/^postgres:\d+$/);
    expect(postgres.healthcheck?.test).toContain("pg_isready");
    const wanted = { postgres: { condition: "service_healthy", required: false } };
    expect([hunkwise.depends_on, worker.depends_on]).toEqual([wanted, wanted]);
  });

  it("compose.yml waits longer for a stop than running jobs may take to hand themselves back", () => {
    for (const { stop_grace_period: period = "" } of [hunkwise, worker]) {
      expect(period).toMatch(/^\d+s$/);
      expect(Number.parseInt(period, 10) * 1_000).toBeGreaterThan(graceMs);
    }
  });

  it("compose.yml publishes its ports to this machine alone, and keeps data where it is declared", () => {
    expect(hunkwise.ports?.every((port) => port.startsWith("127.0.0.1:"))).toBe(true);
    expect(worker.ports).toBeUndefined();
    expect(postgres.ports).toBeUndefined();
    const named = [...volumesOf(hunkwise), ...volumesOf(postgres)].map((one) => one.split(":")[0]);
    expect(named.toSorted()).toEqual(Object.keys(compose.volumes).toSorted());
    // Workers do not share a folder: the volume of each has no name.
    expect(volumesOf(worker)).toEqual(["/data"]);
  });

  it("compose.yml has what a review leaves behind reaped", () => {
    expect([hunkwise.init, worker.init]).toEqual([true, true]);
  });
});

describe("the image", () => {
  it("The image offers the ports that compose.yml publishes, and runs node itself", () => {
    const dockerfile = read("Dockerfile");
    expect(dockerfile).toMatch(/^EXPOSE 3000 9464$/m);
    expect(dockerfile).toMatch(/^CMD \["node", "dist\/cli.js", "serve"\]$/m);
    expect(dockerfile).toMatch(/^USER 1000$/m);
  });
});
