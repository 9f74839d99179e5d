import pino from "pino";
import { AppError } from "./errors.ts";
import { censored } from "./secrets/ranges.ts";
import { withoutSecrets } from "./secrets/redact.ts";
import { escapeUnseen } from "./text/escape-invisible.ts";

export type Logger = pino.Logger;
export type LogLevel = pino.LevelWithSilent;

/** Target of log lines; stderr by default, because stdout belongs to results. */
interface LogDestination {
  write(line: string): void;
}

/** Field names that always hold a secret, at any depth up to three. */
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

/** One line of JSON per event. Every line about a job carries `delivery`, `repo`, `pull`, `head` and `job` as child fields. */
export function createLogger(level: LogLevel, destination: LogDestination = pino.destination(2)): Logger {
  const safe: LogDestination = {
    write: (line) => {
      const clean = withoutSecrets(line);
      destination.write(escapeUnseen(clean));
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

/** Errors of clients also carry the request with its headers, and those of simple-git the command line. */
function errorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
  const { name, message, stack, cause } = error;
  const fields: Record<string, unknown> = { type: name, message, stack };
  if (error instanceof AppError) fields.code = error.code;
  if (error instanceof AggregateError) fields.errors = error.errors.slice(0, 5).map(errorFields);
  if (cause !== undefined) fields.cause = cause instanceof Error ? cause.message : String(cause);
  return fields;
}
