import { type EditPort, type ToolContext, ToolError } from "./tool.ts";

/** The files as they may be changed; a ToolError where nobody makes a fix. */
export function editsOf(context: ToolContext): EditPort {
  if (context.edit) return context.edit;
  throw new ToolError("files can be changed only where a fix is made");
}
