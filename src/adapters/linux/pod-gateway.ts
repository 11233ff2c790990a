// What a pod takes for its gateway: an address that exists nowhere but as a permanent neighbour with the host end's MAC.

import { type Ip, type IpFamily } from '../../domain/address/ip.ts';

const GATEWAY_IPV4 = '169.254.1.1' as Ip;
const GATEWAY_IPV6 = 'fe80::1' as Ip;

export const podGateway = (family: IpFamily): Ip => (family === 4 ? GATEWAY_IPV4 : GATEWAY_IPV6);
