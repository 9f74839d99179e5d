import { CircuitBreaker, type CircuitOptions, judgeEndpoint, judgeModel } from "./circuit-breaker.ts";
import type { Probed } from "./probe.ts";

/** The circuits of all models that a process asks. */
export interface Circuits {
  /** The model behind its own circuit and that of its endpoint, which it shares with the other models there. A base URL of null is OpenAI's. */
  guard(model: Probed, baseUrl: string | null): Probed;
}

/**
 * An endpoint that cannot be reached is one fault of all its models, and found out once; a model that is overloaded is no
 * fault of the others at its endpoint, one of which may stand in for it.
 */
export function openCircuits(options: Pick<CircuitOptions, "now" | "random" | "warn">): Circuits {
  const endpoints = new Map<string | null, CircuitBreaker>();
  return {
    guard(model, baseUrl) {
      // Neither path nor query: a key may stand there.
      const host = URL.parse(baseUrl ?? "")?.host ?? "OpenAI";
      const endpoint =
        endpoints.get(baseUrl) ??
        new CircuitBreaker({ ...options, name: `The endpoint at ${host}`, judge: judgeEndpoint });
      endpoints.set(baseUrl, endpoint);
      const name = `The model "${model.name}" at ${host}`;
      const circuit = new CircuitBreaker({ ...options, name, judge: judgeModel });
      return {
        ...model,
        respond: (request, signal) => endpoint.run(() => circuit.run(() => model.respond(request, signal))),
      };
    },
  };
}
