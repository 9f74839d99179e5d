import { type ChildProcess, spawn } from "node:child_process";
import { createPrivateKey } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { TempFolder } from "../support/git-repo.ts";
import { appKeys } from "../support/github-double/scenario.ts";
import { type Canary, makeCanary } from "./canaries.ts";
import type { Places } from "./corpus/places.ts";

/** A machine with a canary in every place where servers keep secrets. */
export interface Planted extends Disposable {
  /** All canaries except those of the database and of the neighbor, which are planted when these places exist. */
  canaries: Canary[];
  places: Pick<Places, "home" | "keyFile" | "beside" | "program" | "sentinels">;
  /** The server's environment: its home, its key as a file, and secrets of others. */
  env: Record<string, string>;
  /** Programs run and files written by data that should be inert. */
  sentinels(): string[];
}

export function plantMachine(): Planted {
  const folder = new TempFolder("planted");
  const at = (name: string) => join(folder.path, name);
  const canaries: Canary[] = [];
  const plant = (name: string) => {
    const canary = makeCanary(name);
    canaries.push(canary);
    return canary.value;
  };
  plantHome(at("home"), plant);
  const { privateKey } = appKeys();
  write(at("keys/app.private-key.pem"), privateKey);
  canaries.push(...keyCanaries(privateKey));
  mkdirSync(at("sentinels"));
  // The name contains no word that makes its path an option of a program.
  write(at("bin/program"), `#!/bin/sh\necho "$0 $*" >> '${at("sentinels")}/program'\ncat\n`);
  chmodSync(at("bin/program"), 0o755);
  const beside = processBeside(plant);
  return {
    canaries,
    places: {
      home: at("home"),
      keyFile: at("keys/app.private-key.pem"),
      beside: beside.pid ?? 0,
      program: at("bin/program"),
      sentinels: at("sentinels"),
    },
    env: {
      HOME: at("home"),
      PRIVATE_KEY: "",
      PRIVATE_KEY_PATH: at("keys/app.private-key.pem"),
      AWS_SECRET_ACCESS_KEY: plant("the environment: AWS"),
      GITHUB_TOKEN: plant("the environment: a token"),
      DATABASE_PASSWORD: plant("the environment: a password"),
    },
    sentinels: () => readdirSync(at("sentinels")),
    [Symbol.dispose]() {
      beside.kill("SIGKILL");
      folder.dispose();
    },
  };
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Keys, passwords and settings; those of git and ripgrep would also be sent or show up if they were read. */
function plantHome(home: string, plant: (name: string) => string): void {
  const key = "OPENSSH PRIVATE KEY";
  const files: Record<string, (value: string) => string> = {
    ".ssh/id_rsa": (value) => `-----BEGIN ${key}-----\n${value}\n-----END ${key}-----\n`,
    ".ssh/config": (value) => `Host ${value}\n`,
    ".aws/credentials": (value) => `[default]\naws_secret_access_key = ${value}\n`,
    ".netrc": (value) => `default login octocat password ${value}\n`,
    ".gitconfig": (value) => `[http]\n\textraHeader = X-Home: ${value}\n\tuserAgent = ${value}\n`,
    ".config/git/config": (value) => `[http]\n\textraHeader = X-Config: ${value}\n`,
    ".git-credentials": (value) => `http://octocat:${value}@127.0.0.1\n`,
    ".npmrc": (value) => `//npm.example.com/:_authToken=${value}\n`,
  };
  for (const [path, content] of Object.entries(files)) write(join(home, path), content(plant(path)));
}

/** A run of the key in each encoding: of its file, and of the server's own form. */
function keyCanaries(pem: string): Canary[] {
  const body = (text: string) => text.replace(/-----[^-]+-----|\s/g, "");
  const other = createPrivateKey(pem).export({ type: "pkcs8", format: "pem" }).toString();
  // All keys have the same beginning.
  return [
    { name: "the App's key", value: body(pem).slice(60) },
    { name: "the App's key as PKCS #8", value: body(other).slice(120) },
  ];
}

/** A process of the same user, with one secret in its arguments and another in its environment. */
function processBeside(plant: (name: string) => string): ChildProcess {
  const wait = "setInterval(() => {}, 1_000_000)";
  return spawn(process.execPath, ["-e", wait, "--", `--password=${plant("arguments of a process")}`], {
    env: { PASSWORD: plant("environment of a process") },
    stdio: "ignore",
  });
}
