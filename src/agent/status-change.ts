// What a change of the agent's state means to NodeNetwork.status.

/**
 * `Generation`: another spec is acted on, and it grants and takes what the one before it did. `Grant`: one that grants or
 * takes something else.
 */
export type StatusChange = 'Usage' | 'Grant' | 'Generation';
