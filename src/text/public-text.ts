declare const rendered: unique symbol;

/**
 * Text that may stand in public under our name. `publicText` of the reporters alone makes it, of what the renderer wrote, so
 * that nothing else can be handed to GitHub.
 */
export type PublicText = string & { readonly [rendered]: true };
