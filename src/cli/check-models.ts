import { stat } from "node:fs/promises";
import { distance } from "fastest-levenshtein";
import { cacheFolder, type Env } from "../config/env.ts";
import type { EmbeddingEnv, ModelEnv } from "../config/model-env.ts";
import { leastContextTokens } from "../config/variables.ts";
import { canFindByMeaning } from "../graph/vectors-extension.ts";
import { ModelAbsent } from "../llm/model.ts";
import {
  abilityOf,
  type ModelProbe,
  openKnownModels,
  probeModel,
  protocolFor,
  windowTooSmall,
} from "../llm/probe.ts";
import { duration, thousands } from "../reporters/outcome.ts";
import { createEmbedder } from "./create-embedder.ts";
import { createModel, keyOf } from "./create-model.ts";
import { type Diagnosis, fail, ok, warn } from "./diagnosis.ts";

/** Asks each model of the environment once, and the one that stands in, what it can do, and says how it will be spoken with. Rejects for a bad address. */
export async function checkModels(env: ModelledEnv, signal: AbortSignal): Promise<Diagnosis> {
  const { name, verifyName, summarizeName, fallback, azure } = env.model;
  const named = new Map([
    [summarizeName, "HUNKWISE_SUMMARIZE_MODEL"],
    [verifyName, "HUNKWISE_VERIFY_MODEL"],
  ]);
  named.delete(name);
  const variables = [[name, azure ? "AZURE_OPENAI_DEPLOYMENT" : "HUNKWISE_MODEL"] as const, ...named];
  const diagnoses: Diagnosis[] = [];
  for (const [one, variable] of variables) diagnoses.push(await check(env, one, variable, signal));
  if (fallback) {
    const standing = { ...env, model: fallback };
    diagnoses.push(asFallback(await check(standing, fallback.name, "HUNKWISE_FALLBACK_MODEL", signal)));
  }
  const worst = diagnoses.find(({ state }) => state === "fail") ?? diagnoses[0];
  return { state: "ok", remedy: null, ...worst, says: diagnoses.map(({ says }) => says).join("; ") };
}

/** Names shown of a provider that may have hundreds. */
const MOST_NAMES = 8;

/** Those first that are written like the one that is wrong, which some endpoints list and refuse. */
function oneOf(listed: readonly string[] | null, wrong: string): string {
  if (listed === null) return "a model of this endpoint, which has no list of them";
  const models = listed.filter((name) => name !== wrong);
  if (models.length === 0) return "another model: this endpoint lists no other";
  const near = models.toSorted((a, b) => distance(a, wrong) - distance(b, wrong)).slice(0, MOST_NAMES);
  const more = models.length > near.length ? ` and ${models.length - near.length} more` : "";
  return `a model of this endpoint: ${near.join(", ")}${more}`;
}

type ModelledEnv = Env & { model: ModelEnv };

/** @param variable the one that names it */
async function check(
  env: ModelledEnv,
  name: string,
  variable: string,
  signal: AbortSignal,
): Promise<Diagnosis> {
  const model = await createModel(env.model, env.pricesFile, { name, maxRetries: 0 });
  const probe = await probeModel(model, signal);
  if (probe.error instanceof ModelAbsent) {
    return { ...fail(probe.error), remedy: `Set ${variable} to ${oneOf(probe.models, name)}.` };
  }
  if (probe.error) return fail(probe.error);
  await keep(env, name, probe);
  return diagnosed(env.model, name, probe);
}

/** What is to be done is said in the names of the other models' variables. */
const asFallback = ({ state, says, remedy }: Diagnosis): Diagnosis => ({
  ...{ state, says: `to stand in for it: ${says}` },
  remedy: remedy?.startsWith("Set HUNKWISE_FALLBACK_")
    ? remedy
    : remedy &&
      "Check HUNKWISE_FALLBACK_MODEL, HUNKWISE_FALLBACK_BASE_URL and HUNKWISE_FALLBACK_API_KEY, or unset them.",
});

function diagnosed(env: ModelEnv, name: string, probe: ModelProbe): Diagnosis {
  const told = env.contextIsConfigured ? null : probe.contextTokens;
  const context = told ?? env.contextTokens;
  const source = env.contextIsConfigured
    ? "as configured"
    : told === null
      ? "assumed"
      : "as its endpoint tells";
  const best = protocolFor(abilityOf(probe));
  const protocol = env.protocol === "auto" ? best : env.protocol;
  const facts = `${name} answers in ${duration(probe.milliseconds)}, context ${thousands(context)} tokens ${source}, ${abilities(probe)}`;
  if (env.protocol === "auto" && told !== null && told < leastContextTokens)
    return fail(windowTooSmall(name, told, leastContextTokens));
  if (protocol === "native" && !(probe.callsTools && probe.keepsSchema)) {
    return { state: "fail", says: facts, remedy: remedyFor(best) };
  }
  return ok(`${facts}; protocol ${protocol}`);
}

function abilities({ callsTools, keepsSchema, callsInParallel, writesJson }: ModelProbe): string {
  if (callsTools && keepsSchema) return `calls tools${callsInParallel ? ", several at a time" : ""}`;
  const not = callsTools ? "does not keep to the schema of a tool" : "does not call tools";
  return `${writesJson ? "writes calls as JSON," : ""} but ${not}`.trim();
}

const remedyFor = (best: string) =>
  best === "native"
    ? "Choose a model that is made for tool calls, or switch them on in the server (vLLM: --enable-auto-tool-choice)."
    : `Set HUNKWISE_PROTOCOL to auto or to ${best}.`;

/** So that a server that was put in order is not taken for what it was. Folders are not created: this command changes nothing else. */
async function keep({ dataDir, model }: ModelledEnv, name: string, probe: ModelProbe): Promise<void> {
  for (const folder of [dataDir, cacheFolder()]) {
    const there = folder === null ? null : await stat(folder).catch(() => null);
    if (there?.isDirectory()) await openKnownModels(folder).remember(keyOf(model, name), abilityOf(probe));
  }
}

const SAMPLE = "export function add(a: number, b: number) { return a + b; }";

/** Asks the model that makes vectors for one of a line of code, once. Rejects for a bad address. */
export async function checkEmbedding(env: EmbeddingEnv, signal: AbortSignal): Promise<Diagnosis> {
  if (!canFindByMeaning())
    return warn(
      `${env.name} is not asked: there is no sqlite-vec for this machine, so the graph finds by words only`,
      "Install Hunkwise with its optional packages, or unset HUNKWISE_EMBEDDING_MODEL.",
    );
  const embedder = await createEmbedder(env, { maxRetries: 0 });
  const start = performance.now();
  try {
    const [vector] = (await embedder.embed([SAMPLE], signal)).vectors;
    const took = duration(performance.now() - start);
    return ok(`${env.name} makes vectors of ${thousands(vector?.length ?? 0)} numbers, in ${took}`);
  } catch (error) {
    signal.throwIfAborted();
    return fail(error);
  }
}
