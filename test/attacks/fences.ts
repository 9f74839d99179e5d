/** A part of a message that is marked as text of others. */
export interface Fenced {
  id: string;
  source: string;
  text: string;
}

const fence = /<untrusted id="(\w+)" source="([^"]*)">\n([\s\S]*?)\n<\/untrusted id="\1">/g;

/** The fences of a message, each up to the first closing mark with its own id, as a reader would match them. */
export const fencesOf = (message: string): Fenced[] =>
  [...message.matchAll(fence)].map(([, id = "", source = "", text = ""]) => ({ id, source, text }));

/** The parts of a message outside all fences. */
export const outsideFences = (message: string): string => message.replace(fence, "");
