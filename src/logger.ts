import pino from "pino";
import { AppError } from "./errors.ts";

export type Logger = pino.Logger;
export type LogLevel = pino.LevelWithSilent;

/** Where lines go; stderr by default, because stdout belongs to results. */
export interface LogDestination {
  write(line: string): void;
}

const censored = "[secret]";

/** Field names that never hold anything but a secret, wherever they stand. */
const secretFields = [
  "authorization",
  "cookie",
  "password",
  "secret",
  "token",
  "apiKey",
  "privateKey",
  "webhookSecret",
].flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

/** GitHub's tokens by form (the newest hold a JWT, hence dot and dash), OpenAI's keys, and private keys in PEM. */
const secretForms =
  /\bgh[pousr]_[\w.-]{16,}|\bgithub_pat_\w{16,}|\bsk-[\w-]{16,}|-----BEGIN [A-Z ]*PRIVATE KEY-----[\w+/=\\\s]*(-----END [A-Z ]*PRIVATE KEY-----)?/g;

/** Legal in JSON, but acted on by terminals or log viewers: delete, C1 controls, line separators, bidirectional marks. */
const unsafeInTerminals = /[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** Registered values that must not appear in any line, whichever logger writes it. */
const keptSecrets = new Map<string, readonly string[]>();
const passingSecrets = new Map<string, readonly string[]>();
/** Tokens live an hour and are many: the oldest are forgotten, and their form gives them away still. */
const mostPassing = 100;

/**
 * Has an exact value replaced in every line from now on, as it is, as JSON writes it, URL-encoded and as base64, also in the
 * middle of a longer base64 text. `keep` is for those of the environment; tokens pass. Values shorter than 8 characters are left alone: they would eat ordinary words.
 */
export function registerSecret(value: string, options: { keep: boolean } = { keep: false }): void {
  if (value.length < 8) return;
  const secrets = options.keep ? keptSecrets : passingSecrets;
  secrets.delete(value);
  secrets.set(value, spellings(value));
  const [oldest] = passingSecrets.keys();
  if (passingSecrets.size > mostPassing && oldest) passingSecrets.delete(oldest);
}

function spellings(value: string): string[] {
  const bytes = Buffer.from(value);
  // Base64 works on groups of three bytes, so inside a longer text a value has three spellings. The first and the last
  // character of each may hold bits of the neighbours.
  const aligned = [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString("base64")
      .replaceAll("=", "");
    return text.slice(offset === 0 ? 0 : offset + 1, -1);
  });
  const json = JSON.stringify(value).slice(1, -1);
  return [...new Set([value, json, encodeURIComponent(value), ...aligned])];
}

/** `line` without any secret that is known or shows by its form. */
export function withoutSecrets(line: string): string {
  let clean = line;
  for (const forms of [...keptSecrets.values(), ...passingSecrets.values()]) {
    for (const form of forms) clean = clean.replaceAll(form, censored);
  }
  return clean.replace(secretForms, censored);
}

/** One line of JSON per event. Every line about a job carries `delivery`, `repo`, `pull`, `head` and `job` as child fields. */
export function createLogger(level: LogLevel, destination: LogDestination = pino.destination(2)): Logger {
  const safe: LogDestination = {
    write: (line) => {
      const clean = withoutSecrets(line);
      destination.write(clean.replace(unsafeInTerminals, escapeUnit));
    },
  };
  return pino(
    {
      level,
      base: null,
      messageKey: "message",
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: secretFields, censor: censored },
      serializers: { err: errorFields },
    },
    safe,
  );
}

function escapeUnit(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/**
 * An error by allowlist. Errors of clients carry their request with its headers, and those of simple-git the command line:
 * nothing of that is taken over.
 */
function errorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
  const { name, message, stack, cause } = error;
  const fields: Record<string, unknown> = { type: name, message, stack };
  if (error instanceof AppError) fields.code = error.code;
  if (error instanceof AggregateError) fields.errors = error.errors.slice(0, 5).map(errorFields);
  if (cause !== undefined) fields.cause = cause instanceof Error ? cause.message : String(cause);
  return fields;
}
