// Reasons for OpSchema::CpuOnly that several operators share.
#pragma once

namespace caffe2::cpu_only {

inline constexpr char kBoxes[] =
    "it works on boxes of detections, which are few, and sorted and dropped one after another";
inline constexpr char kCollections[] =
    "its operands are no tensors: maps, dictionaries, lists of tensors";
inline constexpr char kDecodes[] =
    "it decodes or samples one after another, at the end of inference";
inline constexpr char kEndsRun[] =
    "it looks for values at which the run must end, which the host has to wait for";
inline constexpr char kFiles[] = "it reads or writes files, databases or text";
inline constexpr char kLengths[] =
    "it makes lengths, ranges or ids, which are small, and which say how long outputs are: the "
    "host has to know";
inline constexpr char kMeasures[] = "it measures and reports, outside of training steps";
inline constexpr char kOnce[] =
    "it fills or converts once, when a net is initialized or an image goes in or out";
inline constexpr char kQueues[] = "its operands are no tensors: queues of blobs";
inline constexpr char kRecordFeatures[] =
    "it makes ids and features out of records, as part of the input; its outputs are as long as "
    "the values say, which the host has to know";
inline constexpr char kRecords[] =
    "it reads or collects records in front of a network, where they come from the host";
inline constexpr char kRunsNets[] = "it runs nets, whose operators have devices of their own";
inline constexpr char kSteersHost[] =
    "it steers the host: counters, flags and conditions are single numbers there";
inline constexpr char kWorkspace[] =
    "it is about the workspace or the process: blobs of any kind, statistics, clocks";

}  // namespace caffe2::cpu_only
