"""The records of nets; part of core.Net."""

from caffe2.python.scope import NameScope


class NetRecords:
    """The input and output record (see schema) of a net, and attributes that travel with it."""

    def input_record(self):
        """The record of set_input_record, or None."""
        return self._input_record

    def output_record(self):
        """The record of set_output_record, or None."""
        return self._output_record

    def set_input_record(self, input_record):
        """Declares the blobs of a schema record, made if it has none, as external inputs."""
        if not input_record.has_blobs():
            from caffe2.python import schema

            with NameScope(self.Name()):
                input_record = schema.NewRecord(self, input_record)
        self._input_record = input_record
        for blob in input_record.field_blobs():
            if not self.BlobIsDefined(blob):
                self.AddExternalInput(blob)
        return self._input_record

    def set_output_record(self, record):
        """Declares the blobs of a schema record as external outputs."""
        for blob in record.field_blobs():
            if not self.BlobIsDefined(blob):
                raise ValueError(f"net {self.Name()} does not compute {blob}")
        self._output_record = record
        for blob in record.field_blobs():
            if blob not in self.external_outputs:
                self.AddExternalOutput(blob)

    def recover_input_record_by_prefix(self, prefix):
        """Makes the external inputs that begin with `prefix` the input record; their names behind
        it are those of the columns. Nothing if there are none."""
        record = _record_by_prefix(self.external_inputs, prefix)
        if record is not None:
            self.set_input_record(record)

    def recover_output_record_by_prefix(self, prefix):
        """Makes the external outputs that begin with `prefix` the output record; their names
        behind it are those of the columns. Nothing if there are none."""
        record = _record_by_prefix(self.external_outputs, prefix)
        if record is not None:
            self.set_output_record(record)

    def AppendOutputRecordField(self, field_name, record):
        """Adds a field to the output record. Raises ValueError if there is none."""
        from caffe2.python import schema

        if self._output_record is None:
            raise ValueError(f"net {self.Name()} has no output record")
        for blob in record.field_blobs():
            self.AddExternalOutput(blob)
        self._output_record += schema.Struct((field_name, record))

    def add_attribute(self, name, obj):
        """Appends an object to a named list that travels with the net."""
        self._attr_dict.setdefault(name, []).append(obj)

    def get_attributes(self, name):
        """The objects of add_attribute under a name: a list."""
        return self._attr_dict.get(name, [])


def _record_by_prefix(blobs, prefix):
    from caffe2.python import schema

    columns = {str(blob)[len(prefix):]: blob for blob in blobs if str(blob).startswith(prefix)}
    if not columns:
        return None
    return schema.from_column_list(list(columns), col_blobs=list(columns.values()))
