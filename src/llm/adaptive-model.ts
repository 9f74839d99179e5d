import { AppError } from "../errors.ts";
import { ModelUnavailable, ToolsRefused } from "./faults.ts";
import type { Ability, KnownModels } from "./known-models.ts";
import type { Model, Protocol } from "./model.ts";
import { type ModelProbe, type Probed, probeModel, protocolFor } from "./probe.ts";
import { abortedError } from "./retry.ts";
import { type SingleShotTools, withSingleShot } from "./single-shot.ts";
import { withTextProtocol } from "./text-protocol.ts";

export interface AdaptiveOptions {
  /** The model as its API speaks. */
  native: Probed;
  /** "auto" finds out. */
  protocol: Protocol | "auto";
  /** True where a person set the size of the context window, which then holds whatever the endpoint says. */
  contextIsConfigured: boolean;
  /** Under which name `known` keeps what is found out. */
  key: string;
  known: KnownModels;
  singleShot: SingleShotTools;
  /**
   * For a process that ends with what it asks for: a model that could not be asked what it can do is not asked again, every request
   * rejects with the fault of that question, and nobody is warned of what the requests will tell.
   */
  forOneRun?: boolean;
  /** Told when the model has to be asked what it can do, right before. */
  onProbe?: (model: string) => void;
  /** Takes one line for whoever operates this. */
  warn(text: string): void;
}

/** A model that is spoken with as it can be. Its facts may change when `ready` resolves, and with a refusal of tools. */
export interface AdaptiveModel extends Model {
  /** Resolves once it is known what the model can do; asks it only where nobody did lately. Rejects only when aborted. */
  ready(signal: AbortSignal): Promise<void>;
}

/** For a whole probe: a local server may have to load the model first. */
const PROBE_MS = 120_000;

/** Speaks with a model by the protocol that is configured, or by the best one that it was found able to. */
export function createAdaptiveModel(options: AdaptiveOptions): AdaptiveModel {
  const { native, known, key, warn, forOneRun = false } = options;
  const speaking: Record<Protocol, Model> = {
    native,
    text: withTextProtocol(native),
    "single-shot": withSingleShot(native, options.singleShot),
  };
  let protocol: Protocol = options.protocol === "auto" ? "native" : options.protocol;
  let told: number | null = null;
  let settled = options.protocol !== "auto";
  let probing: Promise<void> | undefined;
  let givenUp: AppError | null = null;
  const contextTokens = () => (options.contextIsConfigured ? null : told) ?? native.contextTokens;

  function settle(ability: Ability): void {
    told = ability.contextTokens;
    protocol = protocolFor({ ...ability, keepsSchema: ability.callsTools }, contextTokens());
    settled = true;
  }

  async function findOut(): Promise<void> {
    const ability = await known.recall(key);
    if (ability) return settle(ability);
    options.onProbe?.(native.name);
    const found = await probed(native);
    if (found instanceof AppError) {
      if (forOneRun) givenUp = found;
      // The requests will tell, or the circuit has said so, once.
      if (forOneRun || found instanceof ModelUnavailable) return;
      warn(`${native.name} could not be asked what it can do, and is taken to call tools: ${found.line}`);
      return;
    }
    settle(found);
    await known.remember(key, found);
  }

  async function switchToText({ message }: ToolsRefused): Promise<void> {
    // Loops run side by side: another one may have done it.
    if (protocol !== "native") return;
    warn(`${message}. From now on they are spoken of in text`);
    const found = { callsTools: false, writesJson: true, contextTokens: told };
    settle(found);
    await known.remember(key, found);
  }

  return {
    name: native.name,
    get contextTokens() {
      return contextTokens();
    },
    get protocol() {
      return protocol;
    },
    costOf: (usage) => native.costOf?.(usage) ?? null,
    async ready(signal) {
      if (settled || givenUp) return;
      probing ??= findOut().finally(() => {
        probing = undefined;
      });
      await unlessAborted(probing, signal);
    },
    async respond(request, signal) {
      if (givenUp) throw givenUp;
      try {
        return await speaking[protocol].respond(request, signal);
      } catch (error) {
        if (!(error instanceof ToolsRefused) || options.protocol !== "auto") throw error;
        await switchToText(error);
        return speaking[protocol].respond(request, signal);
      }
    },
  };
}

/** What the model can do, or why it could not be asked. */
async function probed(model: Probed): Promise<Ability | AppError> {
  try {
    const probe = await probeModel(model, AbortSignal.timeout(PROBE_MS));
    return probe.error ?? abilityOf(probe);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return new AppError("model_failed", `it did not answer within ${PROBE_MS / 1_000} s`);
  }
}

/** What of a probe is worth keeping. */
export const abilityOf = (probe: ModelProbe): Ability => ({
  callsTools: probe.callsTools && probe.keepsSchema,
  writesJson: probe.writesJson ?? true,
  contextTokens: probe.contextTokens,
});

/** Waits for a promise that serves others too: only the waiting ends with the signal. */
async function unlessAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(abortedError());
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
