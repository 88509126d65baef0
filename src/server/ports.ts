/** Ports of a development server. */

export const MAX_PORT = 65_535;
const UI_ABOVE = 1_000;

/** Where it serves its UI unless it is told otherwise, or null above the highest port there is. */
export const uiPortOf = (port: number): number | null =>
  port + UI_ABOVE > MAX_PORT ? null : port + UI_ABOVE;
