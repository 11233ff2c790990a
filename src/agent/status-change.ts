// What a change of the agent's state means to NodeNetwork.status.

/** `Generation`: another spec is acted on, and it grants and takes what the one before it did. */
export type StatusChange = 'Usage' | 'Generation';
