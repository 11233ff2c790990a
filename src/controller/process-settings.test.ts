// What the controller's process is told by its environment.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parseProcessSettings } from './process-settings.ts';

const ENV = {
  CLUSTER_NAME: 'c',
  KUBERNETES_SERVICE_HOST: '10.96.0.1',
  KUBERNETES_SERVICE_PORT: '443',
  MY_POD_NAME: 'eniwhere-controller-1',
  MY_POD_NAMESPACE: 'kube-system',
};

suite('the settings of the controller’s process', () => {
  test('are the pod’s own, and where the API server is', () => {
    const parsed = parseProcessSettings({ ...ENV, AWS_VPC_K8S_CNI_LOGLEVEL: 'DEBUG' });
    assert.ok(parsed.ok);
    const { controller, ...rest } = parsed.value;
    assert.equal(controller.clusterName, 'c');
    assert.deepEqual(rest, {
      apiServer: { host: '10.96.0.1', port: '443' },
      podName: 'eniwhere-controller-1',
      podNamespace: 'kube-system',
      logLevel: 'debug',
      metrics: { kind: 'Tcp', port: 61_680 },
    });
  });

  test('may name another EC2, and where measurements are served', () => {
    const parsed = parseProcessSettings({
      ...ENV,
      AWS_EC2_ENDPOINT: 'http://127.0.0.1:4570',
      ENIWHERE_CONTROLLER_BIND_ADDRESS: '127.0.0.1:9000',
    });
    assert.ok(parsed.ok);
    assert.equal(parsed.value.ec2Endpoint, 'http://127.0.0.1:4570');
    assert.deepEqual(parsed.value.metrics, { kind: 'Tcp', host: '127.0.0.1', port: 9000 });
  });

  test('may name the API server by a URL, which needs no kube-proxy', () => {
    const parsed = parseProcessSettings({ ...ENV, CLUSTER_ENDPOINT: 'https://[fd00::1]:6443' });
    assert.deepEqual(parsed.ok && parsed.value.apiServer, { host: 'fd00::1', port: '6443' });
  });

  test('are refused with every mistake at once', () => {
    const parsed = parseProcessSettings({
      WARM_IP_TARGET: 'many',
      AWS_VPC_K8S_CNI_LOGLEVEL: 'loud',
      AWS_EC2_ENDPOINT: 'ec2',
    });
    assert.ok(!parsed.ok);
    const names = [
      'WARM_IP_TARGET',
      'CLUSTER_NAME',
      'KUBERNETES_SERVICE_HOST',
      'MY_POD_NAME',
      'MY_POD_NAMESPACE',
      'AWS_VPC_K8S_CNI_LOGLEVEL',
      'AWS_EC2_ENDPOINT',
    ];
    for (const name of names)
      assert.ok(
        parsed.error.some((mistake) => mistake.includes(name)),
        name,
      );
    assert.equal(parsed.error.length, names.length);
  });
});
