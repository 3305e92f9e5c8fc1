"""What tests of ONNX backends share."""
