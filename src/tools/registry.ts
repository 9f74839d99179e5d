import type { ToolDefinition } from "../llm/model.ts";
import { type RunToolOptions, runTool, type ToolRun, unknownTool } from "./run-tool.ts";
import { toDefinition } from "./to-openai.ts";
import type { AnyTool, ToolContext } from "./tool.ts";

/** The tools that one caller may use, by name. */
export interface ToolRegistry {
  /** Adds a tool; a name that is taken is a programming error and throws. */
  register(tool: AnyTool): void;
  get(name: string): AnyTool | undefined;
  names(): string[];
  /** What a model is told about the tools, in the order in which they were registered. */
  definitions(): ToolDefinition[];
  /** Calls a tool by name; a name that is not there is answered, not thrown. */
  execute(name: string, sent: unknown, context: ToolContext, options?: RunToolOptions): Promise<ToolRun>;
}

export function createRegistry(tools: readonly AnyTool[] = []): ToolRegistry {
  const byName = new Map<string, AnyTool>();
  const registry: ToolRegistry = {
    register(tool) {
      if (byName.has(tool.name)) throw new Error(`There is already a tool named '${tool.name}'`);
      byName.set(tool.name, tool);
    },
    get: (name) => byName.get(name),
    names: () => [...byName.keys()],
    definitions: () => [...byName.values()].map(toDefinition),
    async execute(name, sent, context, options) {
      const tool = byName.get(name);
      return tool ? runTool(tool, sent, context, options) : unknownTool(name, registry.names());
    },
  };
  for (const tool of tools) registry.register(tool);
  return registry;
}
